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
for (const name of ['write', 'writeSync'] as const) {
  const original = fs[name] as (file: number, ...more: readonly unknown[]) => unknown
  Reflect.set(fs, name, (file: number, ...more: readonly unknown[]) =>
    original(file === STANDARD_OUTPUT ? log : file, ...more),
  )
}
syncBuiltinESMExports()

/** Has all that this process writes from here on go to this file; pino writes to a stream that is another one, too. */
export function logTo(file: string): void {
  closeSync(log)
  log = openSync(file, 'a')
}
