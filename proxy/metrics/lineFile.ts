import { close, fstat, open, write } from 'node:fs'
import { promisify } from 'node:util'

const STANDARD_OUTPUT = 1
/** Writes of at most so many bytes reach a pipe whole, so that lines of several processes do not mix; see pipe(7). */
const PIPE_BUF = 4_096
/** A pipe takes chunks of this size whole; in UTF-16 code units, of which a text may take more bytes. */
const PIPE_CHUNK = PIPE_BUF / 2
/** A file takes chunks of any size whole, and a write costs more than its bytes. */
const FILE_CHUNK = 65_536

const closeFile = promisify(close)
const openFile = promisify(open)
const statFile = promisify(fstat)
const writeBytes = promisify(write)

export interface LineFileOptions {
  /** A file that lines are appended to, or `-` for standard output. */
  readonly path: string
  /** Lines that wait; beyond it they are dropped. */
  readonly bytesMax: number
  /** How long lines are gathered, and how long a disk that failed rests. */
  readonly flushMs: number
  readonly onFailed: (error: unknown) => void
  readonly onWritten: () => void
}

/**
 * Appends lines to a file without waiting for it: they are gathered and written one write after the other. A file that takes
 * none is tried again in each interval.
 */
export class LineFile {
  /** Lines that were not written. */
  dropped = 0
  private readonly options: LineFileOptions
  private gathered = ''
  private chunks: Buffer[] = []
  private chunksBytes = 0
  private timer: NodeJS.Timeout | undefined
  private file: number | undefined
  /** Lines are gathered up to it before they are written, where the interval does not end first. */
  private chunkMax = PIPE_CHUNK
  private isStale = false
  /** The last write failed; the next one waits for the timer. */
  private isResting = false
  private isStopped = false
  private writing: Promise<void> | undefined

  constructor(options: LineFileOptions) {
    this.options = options
  }

  /** @param line without its line end */
  add(line: string): void {
    const { bytesMax, flushMs } = this.options
    if (this.chunksBytes + this.gathered.length + line.length > bytesMax) {
      this.dropped++
      return
    }
    if (this.gathered.length + line.length >= this.chunkMax) this.gather()
    this.gathered += `${line}\n`
    this.timer ??= setTimeout(() => this.flush(), flushMs)
    if (this.chunks.length > 0 && !this.isResting) this.writing ??= this.writeAll()
  }

  /** Opens the file again before the next write, after it was renamed. */
  reopen(): void {
    this.isStale = true
    this.flush()
  }

  /** Writes the lines that the file takes in one interval. */
  async stop(): Promise<void> {
    this.isStopped = true
    this.flush()
    let timer: NodeJS.Timeout | undefined
    const late = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, this.options.flushMs)
    })
    await Promise.race([this.writing, late])
    clearTimeout(timer)
  }

  private flush(): void {
    this.isResting = false
    clearTimeout(this.timer)
    this.timer = undefined
    this.gather()
    this.writing ??= this.writeAll()
  }

  private gather(): void {
    if (this.gathered === '') return
    const chunk = Buffer.from(this.gathered)
    this.gathered = ''
    this.chunks.push(chunk)
    this.chunksBytes += chunk.length
  }

  private async writeAll(): Promise<void> {
    try {
      if (this.isStale) await this.close()
      for (let [chunk] = this.chunks; chunk !== undefined; [chunk] = this.chunks) {
        this.file ??= await this.open()
        const { bytesWritten } = await writeBytes(this.file, chunk)
        this.chunksBytes -= bytesWritten
        if (bytesWritten === chunk.length) this.chunks.shift()
        else this.chunks[0] = chunk.subarray(bytesWritten)
        this.options.onWritten()
      }
    } catch (error) {
      this.options.onFailed(error)
      this.isStale = true
      this.isResting = true
      if (!this.isStopped) this.timer ??= setTimeout(() => this.flush(), this.options.flushMs)
    } finally {
      this.writing = undefined
    }
  }

  private async open(): Promise<number> {
    const { path } = this.options
    if (path === '-') return STANDARD_OUTPUT
    const file = await openFile(path, 'a')
    this.chunkMax = (await statFile(file)).isFile() ? FILE_CHUNK : PIPE_CHUNK
    return file
  }

  private async close(): Promise<void> {
    const { file } = this
    this.file = undefined
    this.isStale = false
    if (file !== undefined && file !== STANDARD_OUTPUT) await closeFile(file)
  }
}
