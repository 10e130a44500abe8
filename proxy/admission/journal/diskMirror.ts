import { setTimeout as sleep } from 'node:timers/promises'
import type { AdmissionLimits } from '../limits.ts'
import { type JournalListener, notifyUnwritten, notifyWritten } from './listener.ts'
import type { Segment } from './segment.ts'
import { type DiskFile, DiskSegment } from './segmentFile.ts'

/** A block that is queued for the disk. */
interface Chunk {
  readonly segment: Segment
  readonly bytes: Buffer
  /** Those who wait for the disk. */
  readonly listeners: readonly JournalListener[]
}

/** The file that is written now. */
interface OpenFile {
  readonly segment: Segment
  readonly disk: DiskFile
  /** A whole block is in it. */
  isUsed: boolean
}

export interface DiskMirrorOptions {
  readonly folder: string
  /** Makes a file; one on the disk of this machine when absent. */
  readonly createDisk?: (folder: string, number: number) => Promise<DiskFile>
  /** Waiters are called back once the data is on the device itself (fsync). */
  readonly sync: boolean
  readonly limits: AdmissionLimits
  readonly onFault: (error: unknown) => void
}

/**
 * Writes the journal to disk, one write at a time, in the thread pool. While the disk is slow, blocks are buffered in memory
 * up to a bound; while it fails, the buffered blocks are written to another file as soon as one can be created.
 */
export class DiskMirror {
  private readonly options: DiskMirrorOptions
  private queue: Chunk[] = []
  /** Bytes that the disk does not have yet; only this class changes it. */
  lagBytes = 0
  private isFailing = false
  private nextFile = 1
  private current: OpenFile | undefined
  private running: Promise<void> | undefined
  private timer: NodeJS.Timeout | undefined
  /** Blocks in the queue, or being written, that have a waiter. */
  private awaited = 0
  private readonly stopping = new AbortController()

  constructor(options: DiskMirrorOptions) {
    this.options = options
  }

  /** The disk accepts writes, and its lag is within the bound. */
  get keepsUp(): boolean {
    return !this.isFailing && this.lagBytes <= this.options.limits.journalLagBytesMax
  }

  /** @param bytes kept until they are written */
  add(segment: Segment, bytes: Buffer, listeners: readonly JournalListener[]): void {
    this.queue.push({ segment, bytes, listeners })
    this.lagBytes += bytes.length
    if (listeners.length > 0) this.awaited++
    if (this.awaited > 0) this.start()
    // A write costs much the same for one block as for hundreds.
    else this.timer ??= setTimeout(() => this.start(), this.options.limits.journalMirrorMs)
  }

  /** Resolves once everything is on disk, or the disk has refused it. */
  async stop(): Promise<void> {
    this.stopping.abort()
    await this.running
    this.start()
    await this.running
    await this.current?.disk.close().catch(this.options.onFault)
  }

  private start(): void {
    clearTimeout(this.timer)
    this.timer = undefined
    this.running ??= this.run()
  }

  private async run(): Promise<void> {
    for (let isFirst = true; this.queue.length > 0 && (isFirst || this.isUrgent); isFirst = false) {
      const chunks = this.takeOfOneSegment()
      try {
        await this.write(chunks)
        this.written(chunks)
      } catch (error) {
        this.failed(chunks, error)
        const { signal } = this.stopping
        if (signal.aborted) break
        await sleep(this.options.limits.journalRetryMs, undefined, { signal }).catch(() => undefined)
      }
    }
    this.running = undefined
    if (this.queue.length > 0 && !this.stopping.signal.aborted) {
      this.timer ??= setTimeout(() => this.start(), this.options.limits.journalMirrorMs)
    }
  }

  /** A queued block has a waiter, the disk failed, or a segment is to be completed. */
  private get isUrgent(): boolean {
    return this.awaited > 0 || this.isFailing || this.stopping.signal.aborted || this.spansSegments
  }

  private get spansSegments(): boolean {
    return this.queue[0]?.segment !== this.queue.at(-1)?.segment
  }

  private takeOfOneSegment(): Chunk[] {
    const segment = this.queue[0]?.segment
    const end = this.queue.findIndex((chunk) => chunk.segment !== segment)
    const count = end < 0 ? this.queue.length : end
    return this.queue.splice(0, count)
  }

  private async write(chunks: readonly Chunk[]): Promise<void> {
    const [first] = chunks
    if (first === undefined) return
    const disk = await this.diskOf(first.segment)
    await disk.write(chunks.length === 1 ? first.bytes : Buffer.concat(chunks.map(({ bytes }) => bytes)))
    if (this.options.sync) await disk.sync()
  }

  private async diskOf(segment: Segment): Promise<DiskFile> {
    if (this.current?.segment === segment) return this.current.disk
    const before = this.current
    this.current = undefined
    if (before !== undefined) {
      await before.disk.close()
      this.complete(before.segment)
    }
    const { createDisk = DiskSegment.create, folder } = this.options
    const disk = await createDisk(folder, this.nextFile++)
    segment.disks.push(disk)
    this.current = { segment, disk, isUsed: false }
    return disk
  }

  /** The disk has all of a segment, so that memory need not keep it. */
  private complete(segment: Segment): void {
    const { memory } = segment
    segment.memory = null
    try {
      memory?.close()
      memory?.remove()
    } catch (error) {
      this.options.onFault(error)
    }
  }

  private written(chunks: readonly Chunk[]): void {
    this.isFailing = false
    if (this.current !== undefined) this.current.isUsed = true
    for (const { bytes, listeners } of chunks) {
      this.lagBytes -= bytes.length
      if (listeners.length > 0) this.awaited--
      for (const listener of listeners) notifyWritten(listener, this.options.onFault)
    }
  }

  // The file may end with a part of a block, after which nothing could be read: later blocks are written to another file.
  private failed(chunks: readonly Chunk[], error: unknown): void {
    if (!this.isFailing) this.options.onFault(error)
    this.isFailing = true
    if (this.current !== undefined) this.abandon(this.current).catch(() => undefined)
    this.current = undefined
    // The chunks queued after them cannot be written either, even those of the next segment.
    const unwritten = [...chunks, ...this.queue]
    this.queue = unwritten.map((chunk) => ({ ...chunk, listeners: [] }))
    this.awaited = 0
    for (const { listeners } of unwritten) {
      for (const listener of listeners) notifyUnwritten(listener, error, this.options.onFault)
    }
  }

  /** A disk that fails for long would gather a file for each try. */
  private async abandon({ segment, disk, isUsed }: OpenFile): Promise<void> {
    if (!isUsed) segment.disks.splice(segment.disks.indexOf(disk), 1)
    await disk.close()
    if (!isUsed) await disk.remove()
  }
}
