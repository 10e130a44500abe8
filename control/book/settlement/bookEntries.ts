import { formatUsd } from '../../../contract/money/units.ts'
import { compareStreamIds, parseStreamId } from '../../../contract/wire/streamId.ts'
import { GATEWAY, recordActivity } from '../../runtime/activity/activity.ts'
import { intArray, textArray } from '../../runtime/db/arrays.ts'
import { type Client, type Pool, withTransaction } from '../../runtime/db/pool.ts'
import { grantAccount } from '../ledger/accounts.ts'
import { postTransfers, type Transfer } from '../ledger/postTransfers.ts'
import { appendLeaves, lockHead } from '../usagelog/head.ts'
import { chargesOf, expiryRef, lockBalances } from './charges.ts'
import type { Entry } from './entry.ts'
import { addKeyUsage } from './keyUsage.ts'
import { advancePositions, readPositions, type StreamPosition } from './positions.ts'
import { insertReceipts } from './receipt.ts'
import { keepRejects, type Reject } from './rejects.ts'
import { addUsageDays } from './usageDays.ts'

/** What became of a batch. */
export interface Booked {
  /** Receipts written now. */
  receipts: number
  /** Entries that had been booked before. */
  duplicates: number
  readonly rejects: Reject[]
  shortfallUnits: number
  /** Shards whose admission state has to be loaded again. */
  readonly dirtyShards: number[]
}

type BookableEntry = Exclude<Entry, { kind: 'malformed' }>

/**
 * Books a batch in one transaction: receipts, transfers, places in the usage log, usage, stream positions, rejects.
 * Repeating it changes nothing, whatever part of it was booked before.
 * @throws the database error; nothing is booked then, or (connection lost at the commit) everything is
 */
export async function bookEntries(pool: Pool, entries: readonly Entry[]): Promise<Booked> {
  return withTransaction(pool, async (client) => {
    // From here on this is the only batch being booked: what is found missing below stays missing.
    const [frontier, known] = await Promise.all([lockHead(client), readKnown(client, entries)])
    const sorted = leaveOutBooked(entries, known)
    const charges = chargesOf(sorted.fresh, known.balances)
    const receipts = charges.ended.map((entry) => entry.receipt)
    const rejects = [...sorted.rejects, ...charges.rejects]
    const dirty = new Set([...sorted.driftedShards, ...charges.shortShards])
    for (const reject of rejects) dirty.add(reject.raw.shard)

    // Each statement runs while the values of the next are put into their form.
    await Promise.all([
      insertReceipts(client, frontier.size, receipts),
      postTransfers(client, charges.transfers),
      appendLeaves(
        client,
        frontier,
        receipts.map((receipt) => receipt.leafHash),
      ),
      addKeyUsage(client, receipts),
      addUsageDays(client, receipts),
      advancePositions(
        client,
        entries.map((entry) => entry.raw),
      ),
      markDirty(client, [...dirty]),
    ])
    await noteExpiries(client, charges.transfers)
    await keepRejects(client, rejects)
    return {
      receipts: receipts.length,
      duplicates: sorted.duplicates,
      rejects,
      shortfallUnits: charges.shortfallUnits,
      dirtyShards: [...dirty],
    }
  })
}

/** Credits that expired are shown among the account's activity. */
async function noteExpiries(client: Client, transfers: readonly Transfer[]): Promise<void> {
  const expired = transfers.filter((transfer) => transfer.kind === 'expire')
  if (expired.length === 0) return
  const found = await client.query<{ id: string; account_id: string; source: string }>(
    `SELECT id, account_id, source FROM grants WHERE 'grant:' || id = ANY ($1::text[])`,
    [textArray(expired.map((transfer) => transfer.debit))],
  )
  const grants = new Map(found.rows.map((row) => [grantAccount(row.id), row]))
  const changes = expired.flatMap(({ debit, units }) => {
    const grant = grants.get(debit)
    if (grant === undefined) return []
    const details = { amount: formatUsd(units), source: grant.source }
    return [{ accountId: grant.account_id, type: 'credits.expired', target: grant.id, details }]
  })
  await recordActivity(client, GATEWAY, changes)
}

interface Sorted {
  readonly fresh: BookableEntry[]
  duplicates: number
  readonly rejects: Reject[]
  /** Shards where admission took a charge that the book does not have, or the other way round. */
  readonly driftedShards: Set<number>
}

/** What the book has that a batch is compared with. */
interface Known {
  /** Names of requests and expiries that are booked. */
  readonly booked: Set<string>
  readonly positions: Map<number, StreamPosition>
  /** By ledger account, which stay locked. */
  readonly balances: Map<string, number>
}

async function readKnown(client: Client, entries: readonly Entry[]): Promise<Known> {
  const [booked, positions, balances] = await Promise.all([
    bookedAmong(client, entries),
    readPositions(client),
    lockBalances(client, entries),
  ])
  return { booked, positions, balances }
}

function leaveOutBooked(entries: readonly Entry[], { booked, positions }: Known): Sorted {
  const sorted: Sorted = { fresh: [], duplicates: 0, rejects: [], driftedShards: new Set() }
  const firstEntry = new Map<string, string>()
  for (const entry of entries) {
    if (entry.kind === 'malformed') {
      sorted.rejects.push({ raw: entry.raw, reason: entry.reason })
      continue
    }
    const name = nameOf(entry)
    const earlier = firstEntry.get(name)
    if (earlier === undefined && !booked.has(name)) {
      firstEntry.set(name, entry.raw.id)
      sorted.fresh.push(entry)
      if (isLate(entry, positions)) sorted.driftedShards.add(entry.raw.shard)
      continue
    }
    sorted.duplicates++
    const repeated = earlier === undefined ? isUnread(entry, positions) : earlier !== entry.raw.id
    if (repeated) sorted.driftedShards.add(entry.raw.shard)
  }
  return sorted
}

/** What a request or an expiry is booked by. */
function nameOf(entry: BookableEntry): string {
  return entry.kind === 'ended' ? entry.receipt.requestId : expiryRef(entry.raw)
}

async function bookedAmong(client: Client, entries: readonly Entry[]): Promise<Set<string>> {
  const requests: string[] = []
  const expiries: string[] = []
  for (const entry of entries) {
    if (entry.kind === 'ended') requests.push(nameOf(entry))
    else if (entry.kind === 'expired') expiries.push(nameOf(entry))
  }
  const found = await client.query<{ name: string }>({
    name: 'settlement_booked',
    text: `SELECT request_id AS name FROM receipts WHERE request_id = ANY ($1::text[])
           UNION ALL SELECT ref FROM transfers WHERE ref = ANY ($2::text[]) AND kind = 'expire'`,
    values: [textArray(requests), textArray(expiries)],
  })
  return new Set(found.rows.map((row) => row.name))
}

/** A duplicate newer than all that was booked of its stream is no repeated delivery but a second entry. */
function isUnread(entry: BookableEntry, positions: Map<number, StreamPosition>): boolean {
  const position = positions.get(entry.raw.shard)
  return position === undefined || compareStreamIds(parseStreamId(entry.raw.id), position.last) > 0
}

/** Read before the admission state was loaded from the book, and booked after it: what was loaded lacks this entry. */
function isLate(entry: BookableEntry, positions: Map<number, StreamPosition>): boolean {
  return parseStreamId(entry.raw.id).ms <= (positions.get(entry.raw.shard)?.loadedMs ?? -1)
}

async function markDirty(client: Client, shards: readonly number[]): Promise<void> {
  if (shards.length === 0) return
  await client.query(
    `INSERT INTO admission_dirty (shard, reason)
     SELECT shard, 'settlement' FROM unnest($1::smallint[]) AS shard ON CONFLICT DO NOTHING`,
    [intArray(shards)],
  )
}
