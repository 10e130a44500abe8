import { closeSync, existsSync, openSync, readSync, renameSync, statSync } from 'node:fs'

const ROTATE_BYTES = 16_777_216
const SHOWN_BYTES = 16_384
const SHOWN_LINES = 15

/** The length of a log in bytes; 0 if it does not exist. */
export function logLength(path: string): number {
  return existsSync(path) ? statSync(path).size : 0
}

/**
 * The end of a log, for a message that says why a process did not start.
 * @param from bytes of earlier processes, which are skipped
 */
export function lastLines(path: string, from: number): string {
  const length = logLength(path)
  const begin = Math.max(from, length - SHOWN_BYTES)
  if (begin >= length) return ''
  const bytes = Buffer.alloc(length - begin)
  const file = openSync(path, 'r')
  try {
    readSync(file, bytes, 0, bytes.length, begin)
  } finally {
    closeSync(file)
  }
  return bytes.toString('utf8').trimEnd().split('\n').slice(-SHOWN_LINES).join('\n')
}

/** Moves a grown log aside, to the same name with `.1`, so that logs of many runs stay bounded. */
export function rotateLog(path: string): void {
  if (logLength(path) > ROTATE_BYTES) renameSync(path, `${path}.1`)
}
