import { closeSync, openSync, writeFileSync } from 'node:fs'

let log = openSync('/dev/null', 'a')

for (const stream of ['stdout', 'stderr'] as const) {
  process[stream].write = (text: string | Uint8Array): boolean => {
    writeFileSync(log, text)
    return true
  }
}

/** Has all that this process writes from here on go to this file; pino writes to a stream that is another one, too. */
export function logTo(file: string): void {
  closeSync(log)
  log = openSync(file, 'a')
}
