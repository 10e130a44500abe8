import type { DiskFile, MemorySegment } from './segmentFile.ts'

/** A stretch of the journal, with the conditions under which it can be removed. */
export class Segment {
  bytes = 0
  /** Openings in it whose requests have not ended. */
  openCount = 0
  memory: MemorySegment | null
  /** No more writes to memory: it ends with a part of a block, after which nothing could be read, or it is slow. */
  isMemoryClosed = false
  /** More than one where writing to the first one failed. */
  readonly disks: DiskFile[] = []
  /** The newest ending in it, by shard. */
  private readonly lastSeqs = new Map<number, number>()

  constructor(memory: MemorySegment | null) {
    this.memory = memory
  }

  noteEnding(shard: number, seq: number): void {
    this.lastSeqs.set(shard, seq)
  }

  /** @param booked the newest booked ending, by shard */
  isBooked(booked: ReadonlyMap<number, number>): boolean {
    for (const [shard, seq] of this.lastSeqs) if ((booked.get(shard) ?? 0) < seq) return false
    return true
  }
}
