import { type OpenEntry, sizeOf } from './openEntry.ts'

/** Entries of each stream that a read begins with at most: each may carry hundreds of endings. */
const FIRST_MAX = 4

/**
 * How many entries of each stream the next read asks for. Redis serves no other command while it returns entries, so reads
 * begin small, to keep requests from waiting for long, and grow while there is a backlog.
 */
export class ReadSize {
  /** Most entries of one stream; Redis counts by stream. */
  countPerStream: number
  private readonly fewest: number
  private readonly most: number

  /**
   * @param fewest endings of all streams together that the first read is to bring
   * @param most endings of all streams together that a read is to grow to
   */
  constructor(fewest: number, most: number) {
    this.fewest = fewest
    this.most = most
    this.countPerStream = Math.min(fewest, FIRST_MAX)
  }

  /**
   * Sets the size of the next read from the result of the last one.
   * @param entries the result, grouped by stream
   * @returns whether a stream may have more
   */
  note(entries: readonly OpenEntry[]): boolean {
    if (entries.length === 0) return false
    const { streams, longest } = countRuns(entries)
    const size = sizeOf(entries)
    if (longest < this.countPerStream) {
      const perEntry = Math.max(1, size / entries.length)
      this.countPerStream = Math.max(1, Math.min(Math.floor(this.fewest / streams / perEntry), FIRST_MAX))
      return false
    }
    if (size < this.most) this.countPerStream = Math.min(this.countPerStream * 2, this.most)
    else if (size > this.most * 2) this.countPerStream = Math.max(this.countPerStream >> 1, 1)
    return true
  }
}

function countRuns(entries: readonly OpenEntry[]): { streams: number; longest: number } {
  let streams = 0
  let longest = 0
  let length = 0
  for (const [i, { raw }] of entries.entries()) {
    if (entries[i - 1]?.raw.shard === raw.shard) length++
    else {
      streams++
      length = 1
    }
    longest = Math.max(longest, length)
  }
  return { streams, longest }
}
