import type { ChunkScan } from './chunkScan.ts'

const USAGE = Buffer.from('"usage"')

/** Whether a chunk whose own usage is missing or null, as its scan shows, may have a report in another place. */
export function mentionsUsage(bytes: Buffer, start: number, end: number, scan: ChunkScan): boolean {
  const chunk = bytes.subarray(start, end)
  const first = chunk.indexOf(USAGE)
  if (first < 0) return false
  return scan.usageStart < 0 || chunk.indexOf(USAGE, first + USAGE.length) >= 0
}
