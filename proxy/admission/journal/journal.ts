import type { AdmissionLimits } from '../limits.ts'
import { BlockWriter } from './block.ts'
import { DiskMirror, type DiskMirrorOptions } from './diskMirror.ts'
import { type JournalListener, notifyWritten } from './listener.ts'
import { Segment } from './segment.ts'
import { MemorySegment } from './segmentFile.ts'

export interface JournalOptions {
  /** On a file system in memory; null when there is none: then every record waits for the disk. */
  readonly memoryFolder: string | null
  readonly diskFolder: string
  /** Seals the blocks. */
  readonly key: Buffer
  /** Everybody waits until the device has it, so that it survives a loss of power. */
  readonly sync: boolean
  /** Of the mirror. */
  readonly createDisk?: DiskMirrorOptions['createDisk']
  readonly limits: AdmissionLimits
  readonly onFault: (error: unknown) => void
}

/**
 * The openings and endings of a process, in files that outlive it. All records of a turn of the event loop are one write. It
 * goes to a file in memory, which survives the death of the process and is not delayed by any device, and from there to
 * disk.
 */
export class Journal {
  private readonly options: JournalOptions
  private readonly writer: BlockWriter
  private readonly mirror: DiskMirror
  private readonly segments: Segment[] = []
  private listeners: JournalListener[] = []
  private current: Segment | undefined
  private nextNumber = 1
  private totalBytes = 0
  /** Until when segments do without memory, by performance.now(). */
  private memoryRestsUntilMs = 0
  private readonly flush = (): void => {
    const { listeners, current: segment, options } = this
    if (segment === undefined) return
    this.listeners = []
    const block = this.writer.seal()
    segment.bytes += block.length
    this.totalBytes += block.length
    const isWritten = this.writeToMemory(segment, block) && !options.sync
    // The mirror writes later, and the writer's memory is used again.
    this.mirror.add(segment, Buffer.from(block), isWritten ? [] : listeners)
    if (isWritten) for (const listener of listeners) notifyWritten(listener, options.onFault)
  }

  constructor(options: JournalOptions) {
    this.options = options
    this.writer = new BlockWriter(1, options.key)
    const { diskFolder: folder, createDisk, sync, limits, onFault } = options
    this.mirror = new DiskMirror({ folder, sync, limits, onFault, ...(createDisk && { createDisk }) })
  }

  /** Requests may be opened: the journal can be written, keeps up, and is not full. */
  get accepts(): boolean {
    return this.mirror.keepsUp && this.totalBytes < this.options.limits.journalBytesMax
  }

  /** Records are acknowledged in the next turn, unless memory fails: no record waits for the disk. */
  get writesInTurn(): boolean {
    const { current, options } = this
    return !options.sync && current !== undefined && current.memory !== null && !current.isMemoryClosed
  }

  get bytes(): number {
    return this.totalBytes
  }

  /** Bytes that the disk does not have yet. */
  get lagBytes(): number {
    return this.mirror.lagBytes
  }

  get segmentCount(): number {
    return this.segments.length
  }

  /**
   * Adds a record to this turn's write.
   * @param record of one byte a character
   * @returns the segment that it will be in
   */
  append(record: string, listener: JournalListener): Segment {
    const segment = this.writer.isEmpty ? this.beginTurn() : this.current
    if (segment === undefined) throw new Error('a turn of the journal has no segment')
    this.writer.add(record)
    this.listeners.push(listener)
    return segment
  }

  /**
   * Removes segments without open requests whose endings are all booked.
   * @param booked the newest booked ending, by shard
   */
  trim(booked: ReadonlyMap<number, number>): void {
    for (const segment of [...this.segments]) {
      if (segment === this.current || segment.openCount > 0 || !segment.isBooked(booked)) continue
      this.segments.splice(this.segments.indexOf(segment), 1)
      this.totalBytes -= segment.bytes
      this.remove(segment)
    }
  }

  /** The oldest segment that is kept for requests that are open alone; undefined while there are few. */
  pinned(booked: ReadonlyMap<number, number>): Segment | undefined {
    if (this.segments.length <= this.options.limits.journalPinnedMax) return undefined
    return this.segments.find((segment) => segment !== this.current && segment.isBooked(booked))
  }

  /** Resolves once everything is on disk. */
  stop(): Promise<void> {
    return this.mirror.stop()
  }

  // The records of a turn are in one segment, so it changes between turns alone.
  private beginTurn(): Segment {
    setImmediate(this.flush)
    if (this.current === undefined || this.current.bytes >= this.options.limits.journalSegmentBytes) {
      this.current = new Segment(this.newMemory())
      this.segments.push(this.current)
    }
    return this.current
  }

  private newMemory(): MemorySegment | null {
    const { memoryFolder, onFault } = this.options
    const number = this.nextNumber++
    if (memoryFolder === null || performance.now() < this.memoryRestsUntilMs) return null
    try {
      return new MemorySegment(memoryFolder, number)
    } catch (error) {
      onFault(error)
      return null
    }
  }

  /** @returns whether it was written; if not, waiters wait for the disk */
  private writeToMemory(segment: Segment, block: Buffer): boolean {
    if (segment.memory === null || segment.isMemoryClosed) return false
    const beganMs = performance.now()
    try {
      segment.memory.write(block)
    } catch (error) {
      segment.isMemoryClosed = true
      this.options.onFault(error)
      return false
    }
    const tookMs = performance.now() - beganMs
    if (tookMs > this.options.limits.journalMemoryWriteMs) this.restMemory(segment, tookMs)
    return true
  }

  /**
   * Stops writing to memory for a while: a slow write means that it is not in memory, or swapped out, and blocks the event
   * loop.
   */
  private restMemory(segment: Segment, tookMs: number): void {
    const { limits, memoryFolder, onFault } = this.options
    segment.isMemoryClosed = true
    this.memoryRestsUntilMs = performance.now() + limits.journalMemoryRestMs
    onFault(new Error(`a write to ${memoryFolder} took ${Math.round(tookMs)} ms; requests wait for the disk instead`))
  }

  private remove({ memory, disks }: Segment): void {
    try {
      memory?.close()
      memory?.remove()
    } catch (error) {
      this.options.onFault(error)
    }
    for (const disk of disks) disk.remove().catch(this.options.onFault)
  }
}
