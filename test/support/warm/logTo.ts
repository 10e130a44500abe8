import fs, { closeSync, openSync, writeFileSync } from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'

const STANDARD_OUTPUT = 1
let log = openSync('/dev/null', 'a')

for (const stream of ['stdout', 'stderr'] as const) {
  process[stream].write = (text: string | Uint8Array): boolean => {
    writeFileSync(log, text)
    return true
  }
}

/** The log of a program is written to the file of standard output, and not to its stream. */
const { writeSync } = fs as { writeSync: (file: number, ...more: readonly unknown[]) => number }
Reflect.set(fs, 'writeSync', (file: number, ...more: readonly unknown[]) =>
  writeSync(file === STANDARD_OUTPUT ? log : file, ...more),
)
syncBuiltinESMExports()

/** Has all that this process writes from here on go to this file; pino writes to a stream that is another one, too. */
export function logTo(file: string): void {
  closeSync(log)
  log = openSync(file, 'a')
}
