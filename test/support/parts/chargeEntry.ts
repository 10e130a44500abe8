import type { sluice } from '../../../contract/wire/generated/messages.js'
import { newId } from '../../../contract/wire/ids.ts'
import { shardOf } from '../../../contract/wire/redisKeys.ts'
import { type Entry, parseEntry } from '../../../control/book/settlement/entry.ts'
import { settlementOf } from './ledger.ts'

let entries = 0

/** A charge of coin, in units, as control reads it from a ledger stream. @param atMs when the request began */
export function chargeEntry(
  changes: Partial<Omit<sluice.ISettlement, 'requestId'>> & { accountId: string; chargeUnits: number },
  atMs: number = Date.now(),
): Entry {
  const { accountId, chargeUnits } = changes
  const settlement = settlementOf({ requestId: newId('req', atMs), ...changes })
  const split = chargeUnits > 0 ? `coin=${chargeUnits}` : ''
  const fields = ['e', settlement, 'c', String(chargeUnits), 't', String(Date.now()), 's', split]
  const pairs = fields.map((field) => (typeof field === 'string' ? Buffer.from(field) : field))
  return parseEntry({ shard: shardOf(accountId), id: `${Date.now()}-${++entries}`, fields: pairs })
}
