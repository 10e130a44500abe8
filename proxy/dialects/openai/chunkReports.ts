import { answerError } from '../../../contract/api/answerError.ts'
import { isJsonObject, type JsonObject } from '../../../contract/std/jsonObject.ts'
import { parseBytes } from '../../sse/sseText.ts'
import type { ChunkScan } from './chunkScan.ts'

const USAGE = Buffer.from('"usage"')

/** The failure of the provider that a chunk reports; null for none. @param scan of the chunk in [start, end) */
export function chunkError(bytes: Buffer, start: number, end: number, scan: ChunkScan): unknown {
  const mayFail = scan.errorStart >= 0 || scan.hasAside || (!scan.hasChoices && scan.usageStart < 0)
  const chunk = mayFail ? parseBytes(bytes, start, end) : null
  return isJsonObject(chunk) ? answerError(chunk) : null
}

/**
 * The chunk, or as much of it as has its usage, for UsageReports. Some providers report in other places than next to the
 * choices, which can only be with the end of the answer or after it.
 * @param scan of the chunk in [start, end)
 * @param finished the answer had ended before the chunk
 * @returns null where it reports none
 */
export function chunkUsage(
  bytes: Buffer,
  start: number,
  end: number,
  scan: ChunkScan,
  finished: boolean,
): JsonObject | null {
  if (scan.usageStart >= 0 && !scan.usageIsNull) return { usage: parseBytes(bytes, scan.usageStart, scan.usageEnd) }
  if (!(finished || scan.finished || !scan.hasChoices)) return null
  const chunk = mentionsUsage(bytes, start, end, scan) ? parseBytes(bytes, start, end) : null
  return isJsonObject(chunk) ? chunk : null
}

/** Whether a chunk whose own usage is missing or null, as its scan shows, may have a report in another place. */
function mentionsUsage(bytes: Buffer, start: number, end: number, scan: ChunkScan): boolean {
  if (!scan.hasObject) return false
  // A search of `bytes` would go on to their end, past all chunks that follow.
  const chunk = bytes.subarray(start, end)
  const first = chunk.indexOf(USAGE)
  return first >= 0 && (scan.usageStart < 0 || chunk.includes(USAGE, first + USAGE.length))
}
