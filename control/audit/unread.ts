import type { Redis } from '../../contract/wire/redis.ts'
import { LEDGER_GROUP, ledgerStream, SHARD_COUNT } from '../../contract/wire/redisKeys.ts'
import { readStream } from '../admission/drainStream.ts'
import { increase } from '../admission/heldParts.ts'
import { missingAmong } from '../book/settlement/bookedNames.ts'
import { expiryRef } from '../book/settlement/charges.ts'
import type { Entry } from '../book/settlement/entry.ts'
import { entriesOf, openEntry } from '../book/settlement/openEntry.ts'
import { eachRun, OwnerPositions, type OwnerRun } from '../book/settlement/ownerPositions.ts'
import { ReadSize } from '../book/settlement/readSize.ts'
import { textArray } from '../runtime/db/arrays.ts'
import type { Queryable } from '../runtime/db/pool.ts'
import type { AuditLimits } from './limits.ts'

/** Entries of the streams that are not in the book. */
export interface Unread {
  /** Endings and expiries. */
  entries: number
  /** Entries of the streams that are booked already and only wait to be removed. */
  booked: number
  /** Stream entries that were given to a control. */
  pending: number
  /** Endings that proxies have delivered, booked or not. */
  readonly runs: OwnerRun[]
  /** By ledger account, the amount by which its balance will fall: nanos of coin, or units. */
  readonly amounts: Map<string, number>
  /** By key, its charges with the hour of their hold. */
  readonly keyCharges: Map<string, { hour: number; units: number }[]>
}

/** Reads all streams, a page at a time. */
export async function readUnread(client: Queryable, redis: Redis, limits: AuditLimits): Promise<Unread> {
  const unread: Unread = { entries: 0, booked: 0, pending: 0, runs: [], amounts: new Map(), keyCharges: new Map() }
  for (let shard = 0; shard < SHARD_COUNT; shard++) {
    unread.pending += await pendingOf(redis, shard)
    const size = new ReadSize(limits.settlementReadMin, limits.auditPageMax)
    for (let from = '-'; ; ) {
      const page = (await readStream(redis, shard, from, size.countPerStream)).map(openEntry)
      if (page.length === 0) break
      size.note(page)
      await addPage(client, page.flatMap(entriesOf), unread)
      from = `(${page.at(-1)?.raw.id}`
    }
  }
  return unread
}

async function pendingOf(redis: Redis, shard: number): Promise<number> {
  try {
    const [count] = (await redis.xpending(ledgerStream(shard), LEDGER_GROUP)) as [number]
    return Number(count)
  } catch (error) {
    // Before the first settlement there is neither stream nor group.
    if ((error as Error).message.startsWith('NOGROUP')) return 0
    throw error
  }
}

async function addPage(client: Queryable, entries: readonly Entry[], unread: Unread): Promise<void> {
  if (entries.length === 0) return
  const names = entries.map((entry) => (entry.kind === 'ended' ? entry.receipt.requestId : expiryRef(entry.raw)))
  const found = await client.query<{ name: string }>(
    `SELECT request_id AS name FROM receipts WHERE request_id = ANY ($1::text[])
     UNION ALL SELECT ref FROM transfers WHERE ref = ANY ($1::text[]) AND kind = 'expire'`,
    [textArray(names)],
  )
  const booked = new Set(found.rows.map((row) => row.name))
  const owners = await OwnerPositions.read(client, entries)
  const missing = await missingAmong(client, entries, owners)
  eachRun(entries, (run) => unread.runs.push(run))
  for (const [i, entry] of entries.entries()) {
    if ((owners.has(entry) && !missing.has(entry)) || booked.has(names[i] ?? '')) {
      unread.booked++
      continue
    }
    unread.entries++
    if (entry.kind === 'expired') increase(unread.amounts, entry.ledgerAccount, entry.units)
    if (entry.kind !== 'ended') continue
    for (const part of entry.parts) increase(unread.amounts, part.ledgerAccount, part.amount)
    const charges = unread.keyCharges.get(entry.receipt.keyId) ?? []
    unread.keyCharges.set(entry.receipt.keyId, charges)
    const { heldAtMs, chargeUnits, lockUnits } = entry.receipt
    charges.push({ hour: Math.floor(heldAtMs / 3_600_000), units: chargeUnits + lockUnits })
  }
}
