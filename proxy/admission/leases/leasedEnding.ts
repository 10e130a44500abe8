import type { EndingRecord } from '../journal/records.ts'
import { parseSplit } from '../parts.ts'
import type { LeasedEnding } from './batch.ts'
import { hourOf, keyIdOf } from './leaseName.ts'

/** An ending in its form before it was written to the journal. */
export function leasedEnding(record: EndingRecord): LeasedEnding {
  const { shard, field, accountId, keys, requestId, seq, voided, heldAtMs, split, settlement } = record
  const lease = { shard, field, accountId, keys, keyId: keyIdOf({ keys }), hour: hourOf(field) }
  return { lease, requestId, seq, voided, heldAtMs, charged: parseSplit(split), split, settlement }
}
