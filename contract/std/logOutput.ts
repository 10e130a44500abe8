import { write, writeSync } from 'node:fs'

const STANDARD_OUTPUT = 1
/** Of lines that wait; those beyond it are dropped. */
const WAITING_BYTES_MAX = 1_048_576
/** How long an output rests that took nothing. */
const REST_MS = 100

/**
 * Standard output for the lines of a log. One that takes nothing, such as a file on a full disk or a pipe whose reader is gone,
 * ends no program and keeps none from ending: lines wait in memory until it takes them.
 */
export class LogOutput {
  private readonly file: number
  private readonly waiting: Buffer[] = []
  private waitingBytes = 0
  private isBusy = false

  constructor(file: number = STANDARD_OUTPUT) {
    this.file = file
    process.on('exit', () => this.flushSync())
  }

  /** @param line with its line end */
  write(line: string): void {
    const bytes = Buffer.from(line)
    if (this.waitingBytes + bytes.length > WAITING_BYTES_MAX) return
    this.waiting.push(bytes)
    this.waitingBytes += bytes.length
    if (!this.isBusy) this.send()
  }

  /** Writes the part of what waits that the output takes immediately. */
  flushSync(): void {
    try {
      for (let bytes = this.take(); bytes !== undefined; bytes = this.take())
        this.keep(bytes.subarray(writeSync(this.file, bytes)))
    } catch {
      // There is nowhere to say it.
    }
  }

  private send(): void {
    const bytes = this.take()
    this.isBusy = bytes !== undefined
    if (bytes === undefined) return
    write(this.file, bytes, (error, written) => {
      this.keep(bytes.subarray(error === null ? written : 0))
      if (error === null) this.send()
      else setTimeout(() => this.send(), REST_MS).unref()
    })
  }

  private take(): Buffer | undefined {
    const bytes = this.waiting.shift()
    this.waitingBytes -= bytes?.length ?? 0
    return bytes
  }

  /** Puts back what was not written. */
  private keep(rest: Buffer): void {
    if (rest.length === 0) return
    this.waiting.unshift(rest)
    this.waitingBytes += rest.length
  }
}
