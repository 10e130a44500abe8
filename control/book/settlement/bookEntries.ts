import { formatUsd } from '../../../contract/money/units.ts'
import { compareStreamIds, parseStreamId } from '../../../contract/wire/streamId.ts'
import { type Change, GATEWAY, recordActivity } from '../../runtime/activity/activity.ts'
import { textArray } from '../../runtime/db/arrays.ts'
import { type Client, type Pool, withTransaction } from '../../runtime/db/pool.ts'
import { together } from '../../runtime/db/together.ts'
import { grantAccount } from '../ledger/accounts.ts'
import { postNewTransfers, type Transfer } from '../ledger/postTransfers.ts'
import type { Place } from '../receipt/generated/receipt.ts'
import { stageBatch } from '../statistics/stagedBatches.ts'
import type { Frontier } from '../usagelog/frontier.ts'
import { type Appended, appendLeaves, lockHeads } from '../usagelog/head.ts'
import { bookedAmong, missingAmong, nameOf } from './bookedNames.ts'
import { chargesOf, lockBalances } from './charges.ts'
import { markDirty } from './dirtyShards.ts'
import { earnBurnt, isBurn } from './earnBurnt.ts'
import type { BookableEntry, EndedEntry, Entry, RawEntry } from './entry.ts'
import { insertReceipts } from './insertReceipts.ts'
import { addKeyUsage, type KeySpending } from './keyUsage.ts'
import { type OwnerPosition, OwnerPositions } from './ownerPositions.ts'
import { advancePositions, readPositions, type StreamPosition } from './positions.ts'
import { keepRejects, type Reject } from './rejects.ts'
import { addUsageDays } from './usageDays.ts'

/** The result of booking a batch. */
export interface Booked {
  /** Receipts written now. */
  receipts: number
  /** Endings and expiries that had been booked before. */
  duplicates: number
  readonly rejects: Reject[]
  shortfallUnits: number
  /** Shards whose admission state has to be loaded again. */
  readonly dirtyShards: number[]
  /** Owners with a gap: some of their endings are booked now, but some earlier ones are not. */
  readonly gaps: OwnerPosition[]
  /** Of the receipts written now. */
  readonly spending: KeySpending[]
}

/**
 * Books a batch in one transaction: receipts, transfers, places in the usage log, usage, positions, rejects.
 * It is idempotent, regardless of the part that was booked before.
 * @param asked the entries to look up among the receipts. The numbers of delivered endings show whether they were booked, which
 *   is looked up where they say so, but not whether their requests had ended in another way; if one had, inserting the receipts fails (SQLSTATE 23505), and all
 *   have to be looked up.
 * @throws the database error; nothing is booked then, or (connection lost at the commit) everything is
 */
export async function bookEntries(
  pool: Pool,
  entries: readonly Entry[],
  asked: 'unnumbered' | 'all' = 'unnumbered',
): Promise<Booked> {
  const sought = asked === 'all' ? entries : entries.filter(({ delivered }) => delivered === undefined)
  return withTransaction(pool, async (client) => {
    // From here on this is the only batch of these shards being booked: an entry found missing below stays missing.
    const [heads, known] = await Promise.all([lockHeads(client, shardsOf(entries)), readKnown(client, entries, sought)])
    const sorted = leaveOutBooked(entries, known)
    const charges = chargesOf(sorted.fresh, known.balances)
    const receipts = charges.ended.map((entry) => entry.receipt)
    const { places, appended } = placesOf(charges.ended, heads)
    const rejects = [...sorted.rejects, ...charges.rejects]
    const dirty = new Set([...sorted.driftedShards, ...charges.shortShards])
    for (const { from } of rejects) dirty.add(from.raw.shard)

    // Each statement runs while the values of the next are encoded.
    const posted = [
      known.owners.advance(client, entries),
      insertReceipts(client, places, receipts),
      postNewTransfers(client, charges.transfers),
    ] as const
    // All ledger accounts are locked before the usage of keys, as debits lock them.
    if (charges.transfers.some(isBurn)) await together(posted).then(() => earnBurnt(client, charges.transfers))
    const [gaps, , , , spending] = await together([
      ...posted,
      appendLeaves(client, appended),
      addKeyUsage(client, receipts),
      addUsageDays(client, receipts),
      stageBatch(client, places, receipts),
      advancePositions(client, rawsOf(entries)),
      markDirty(client, [...dirty], 'settlement'),
    ])
    await noteExpiries(client, charges.transfers)
    await keepRejects(client, rejects)
    return {
      receipts: receipts.length,
      duplicates: sorted.duplicates,
      rejects,
      shortfallUnits: charges.shortfallUnits,
      dirtyShards: [...dirty],
      gaps,
      spending: [...spending],
    }
  })
}

/** In ascending order. */
function shardsOf(entries: readonly Entry[]): number[] {
  return [...new Set(entries.map(({ raw }) => raw.shard))].sort((a, b) => a - b)
}

/** Gives receipts the next places in the logs of their shards. */
function placesOf(ended: readonly EndedEntry[], heads: ReadonlyMap<number, Frontier>) {
  const leavesOf = new Map([...heads].map(([log]) => [log, [] as Buffer[]]))
  const places = ended.map(({ raw: { shard: log }, receipt }): Place => {
    const [frontier, leaves] = [heads.get(log), leavesOf.get(log)]
    if (frontier === undefined || leaves === undefined) throw new Error(`the head of log ${log} is not locked`)
    return { log, position: frontier.size + leaves.push(receipt.leafHash) - 1 }
  })
  const appended = [...heads].map(([log, frontier]): Appended => ({ log, frontier, leaves: leavesOf.get(log) ?? [] }))
  return { places, appended }
}

/** The stream entries, each once where its endings follow each other. */
function rawsOf(entries: readonly Entry[]): RawEntry[] {
  const raws: RawEntry[] = []
  for (const { raw } of entries) if (raws.at(-1) !== raw) raws.push(raw)
  return raws
}

/** Credits that expired are shown among the account's activity. */
async function noteExpiries(client: Client, transfers: readonly Transfer[]): Promise<void> {
  const expired = transfers.filter((transfer) => transfer.kind === 'expire')
  if (expired.length === 0) return
  await recordActivity(client, GATEWAY, expired.flatMap(holdingExpiry))
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

/** Tokens that burn at the end of their month, as the account's activity shows them. */
function holdingExpiry({ debit, units }: Transfer): Change[] {
  const [kind, seriesId = '', accountId = ''] = debit.split(':')
  if (kind !== 'lock') return []
  return [{ accountId, type: 'lock.tokens_expired', target: seriesId, details: { amount: formatUsd(units) } }]
}

interface Sorted {
  readonly fresh: BookableEntry[]
  duplicates: number
  readonly rejects: Reject[]
  /** Shards where admission took a charge that the book does not have, or the other way round. */
  readonly driftedShards: Set<number>
}

/** The state of the book that a batch is compared with. */
interface Known {
  /** Names of requests and expiries that are booked, among those that were looked up. */
  readonly booked: Set<string>
  readonly positions: Map<number, StreamPosition>
  readonly owners: OwnerPositions
  /** Endings that the position of their owner counts as booked, and that the book does not have. */
  readonly missing: ReadonlySet<Entry>
  /** Archived months, for which the book does not know whether a request is booked. */
  readonly archived: readonly IdRange[]
  /** By ledger account, which stay locked. */
  readonly balances: Map<string, number>
}

async function readKnown(client: Client, entries: readonly Entry[], sought: readonly Entry[]): Promise<Known> {
  const [booked, archived, positions, owners, balances] = await Promise.all([
    bookedAmong(client, sought),
    archivedAmong(client, entries),
    readPositions(client),
    OwnerPositions.read(client, entries),
    lockBalances(client, entries),
  ])
  const missing = await missingAmong(client, entries, owners)
  return { booked, missing, archived, positions, owners, balances }
}

function leaveOutBooked(entries: readonly Entry[], { booked, missing, positions, owners, archived }: Known): Sorted {
  const sorted: Sorted = { fresh: [], duplicates: 0, rejects: [], driftedShards: new Set() }
  const firstEntry = new Map<string, Entry>()
  let age: EntryAge | undefined
  for (const entry of entries) {
    const { raw } = entry
    if (age?.raw !== raw) age = ageOf(raw, positions)
    const name = entry.kind === 'malformed' ? '' : nameOf(entry)
    const earlier = firstEntry.get(name)
    const isCounted = owners.has(entry) && !missing.has(entry)
    if (isCounted || earlier !== undefined || booked.has(name)) {
      sorted.duplicates++
      const isRepeated = earlier === undefined ? age.isUnread : !isSame(earlier, entry)
      if (isRepeated && takesUnits(entry)) sorted.driftedShards.add(raw.shard)
    } else if (entry.kind === 'malformed') {
      sorted.rejects.push({ from: entry, reason: entry.reason })
    } else if (entry.kind === 'ended' && isArchived(name, archived)) {
      sorted.rejects.push({ from: entry, reason: `receipts of the month of ${name} are put away` })
    } else {
      firstEntry.set(name, entry)
      sorted.fresh.push(entry)
      if (age.isLate) sorted.driftedShards.add(raw.shard)
    }
  }
  return sorted
}

/** Whether one ending was delivered twice, rather than two endings of one request. */
function isSame(one: Entry, other: Entry): boolean {
  return one.raw.id === other.raw.id && one.delivered?.seq === other.delivered?.seq
}

/** Whether admission has taken units for it: a second ending without a charge leaves admission equal to the book. */
function takesUnits(entry: Entry): boolean {
  return entry.kind !== 'ended' || entry.receipt.chargeUnits + entry.receipt.lockUnits > 0
}

/** Request ids from the first up to but without the last. */
interface IdRange {
  readonly from: string
  readonly until: string
}

async function archivedAmong(client: Client, entries: readonly Entry[]): Promise<IdRange[]> {
  let least = ''
  for (const entry of entries) {
    if (entry.kind !== 'ended') continue
    const { requestId } = entry.receipt
    if (least === '' || requestId < least) least = requestId
  }
  const found = await client.query<IdRange>({
    name: 'settlement_archived',
    text: 'SELECT from_id AS "from", until_id AS until FROM receipt_archives WHERE until_id > $1',
    values: [least],
  })
  return found.rows
}

function isArchived(name: string, archived: readonly IdRange[]): boolean {
  return archived.some(({ from, until }) => name >= from && name < until)
}

/** The age of an entry, and so of all that it carries, by the positions of its stream. */
interface EntryAge {
  readonly raw: RawEntry
  /** Newer than everything booked: a duplicate in it is a second entry, not a redelivery. */
  readonly isUnread: boolean
  /**
   * Read before the admission state was loaded from the book: the loaded state lacks the parts of it that are booked only now.
   */
  readonly isLate: boolean
}

function ageOf(raw: RawEntry, positions: Map<number, StreamPosition>): EntryAge {
  const position = positions.get(raw.shard)
  const id = parseStreamId(raw.id)
  const isUnread = position === undefined || compareStreamIds(id, position.last) > 0
  return { raw, isUnread, isLate: position !== undefined && id.ms <= position.loadedMs }
}
