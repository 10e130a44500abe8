import { writeSync } from 'node:fs'

const STANDARD_OUTPUT = 1
/** Of lines that wait; those beyond it are dropped. */
const WAITING_BYTES_MAX = 1_048_576
/** How long an output rests that took nothing. */
const REST_MS = 100

/**
 * Standard output for the lines of a log. One that takes nothing, such as a file on a full disk or a pipe whose reader is gone,
 * ends no program and keeps none from ending: lines wait in memory until it takes them. Lines are written synchronously, so that
 * the last ones before the end of a process are not lost.
 */
export class LogOutput {
  private readonly file: number
  private readonly waiting: Buffer[] = []
  private waitingBytes = 0
  private rest: NodeJS.Timeout | undefined

  constructor(file: number = STANDARD_OUTPUT) {
    this.file = file
    process.on('exit', () => this.send())
  }

  /** @param line with its line end */
  write(line: string): void {
    const bytes = Buffer.from(line)
    if (this.waitingBytes + bytes.length > WAITING_BYTES_MAX) return
    this.waiting.push(bytes)
    this.waitingBytes += bytes.length
    if (this.rest === undefined) this.send()
  }

  /** Writes the part of what waits that the output takes immediately. */
  private send(): void {
    this.rest = undefined
    try {
      for (let bytes = this.waiting[0]; bytes !== undefined; bytes = this.waiting[0]) {
        const written = writeSync(this.file, bytes)
        this.waitingBytes -= written
        if (written === bytes.length) this.waiting.shift()
        else this.waiting[0] = bytes.subarray(written)
      }
    } catch {
      this.rest = setTimeout(() => this.send(), REST_MS).unref()
    }
  }
}
