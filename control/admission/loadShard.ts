import type { Redis } from '../../contract/wire/redis.ts'
import { accountKey, debitsKey, keyCountersKey, SHARD_COUNT } from '../../contract/wire/redisKeys.ts'
import { parseStreamId } from '../../contract/wire/streamId.ts'
import { chargesField } from '../../contract/wire/unsettled.ts'
import { potAccount } from '../book/ledger/accounts.ts'
import { type StreamPosition, setPositions } from '../book/settlement/positions.ts'
import { lockHeads } from '../book/usagelog/head.ts'
import { textArray } from '../runtime/db/arrays.ts'
import { type Client, type Pool, withTransaction } from '../runtime/db/pool.ts'
import { readDebits } from './debitRecord.ts'
import { drainStream, lastEntryId } from './drainStream.ts'
import { HeldParts } from './heldParts.ts'
import { addSpending, countersOf, type KeySpending, noSpending, spendingColumns } from './keySpending.ts'
import { listLeases } from './leaseRecord.ts'
import type { AdmissionLimits } from './limits.ts'
import { type OwnedKey, readHolds } from './listHolds.ts'
import type { ShardWriter, Write } from './shardWriter.ts'
import { readSubKeySpending } from './subKeySpending.ts'
import { windowsAt } from './windows.ts'

export interface ShardLoad {
  readonly redis: Redis
  readonly pool: Pool
  readonly writer: ShardWriter
  readonly shard: number
  /** When the shard was closed, on Redis's clock. */
  readonly closedMs: number
  /** Every hash of holds in the shard, and every one of leases. */
  readonly holdsKeys: readonly OwnedKey[]
  readonly leasesKeys: readonly OwnedKey[]
  /** The owners that have reported to this loading which leases they need; absent when all leases are kept. */
  readonly reports?: LeaseReports
  /** The result of `unusedShards`, asked after the keys of holds and leases were found; absent for single shards. */
  readonly unused?: ReadonlySet<number>
  readonly limits: AdmissionLimits
}

/** The reports of proxy processes on their leases; see askOwners.ts. */
export interface LeaseReports {
  /** The number of the loading that asked for them. */
  readonly loadNumber: number
  readonly owners: ReadonlySet<string>
}

interface AccountRow {
  readonly account_id: string
  readonly seq: number
  readonly coin: number
  /** Grants and holdings. */
  readonly pots: { id: string; expires: number; units: number }[] | null
}

interface KeyRow extends KeySpending {
  readonly key_id: string
}

/** A shard that was closed, on Redis's clock. */
export interface ClosedShard {
  readonly shard: number
  readonly closedMs: number
}

/** Books all entries in the streams of closed shards, including those that a consumer is booking. */
export async function bookStreams(
  load: Pick<ShardLoad, 'redis' | 'pool' | 'limits'>,
  shards: readonly ClosedShard[],
): Promise<void> {
  for (const { shard } of shards) await drainStream(load.redis, load.pool, shard, load.limits)
  await rememberPositions(load, shards)
}

/**
 * Loads one closed shard of the admission state from the book, once the entries of its stream are booked. Keeps holds, except
 * those whose request has ended by the book, and leases, except those that their owners no longer need; the amounts that they
 * reserve are not available.
 */
export async function loadShard(load: ShardLoad): Promise<void> {
  const { shard, holdsKeys, leasesKeys, unused } = load
  const held = new HeldParts(windowsAt(load.closedMs))
  for (const key of holdsKeys) await keepOpenHolds(load, key, held)
  for (const key of leasesKeys) await keepLeases(load, key, held)
  await keepOpenDebits(load, held)
  // With holds or leases, what was unused may have been booked since.
  const isEmpty = holdsKeys.length === 0 && leasesKeys.length === 0 && held.keyUnits.size === 0
  if (isEmpty && unused?.has(shard) === true) return
  await withTransaction(load.pool, async (client) => {
    // Balances and event numbers have to be of the same moment.
    await client.query('SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY')
    await client.query('SET LOCAL statement_timeout = 0')
    await loadAccounts(load, client, held)
    await loadKeys(load, client, held)
  })
}

/** The shards in which the book has neither accounts nor spending, as most are in a small book. */
export async function unusedShards(pool: Pool): Promise<ReadonlySet<number>> {
  const found = await pool.query<{ shard: number }>(
    `SELECT shard FROM generate_series(0, $1::integer - 1) AS s (shard)
     WHERE (SELECT shard FROM admission_accounts a WHERE a.shard = s.shard LIMIT 1) IS NULL
       AND (SELECT shard FROM key_usage u WHERE u.shard = s.shard LIMIT 1) IS NULL`,
    [SHARD_COUNT],
  )
  return new Set(found.rows.map(({ shard }) => shard))
}

async function keepOpenHolds(load: ShardLoad, key: OwnedKey, held: HeldParts): Promise<void> {
  const seen = new Set<string>()
  for await (const page of readHolds(load.redis, key)) {
    const ended = await load.pool.query<{ request_id: string }>(
      'SELECT request_id FROM receipts WHERE request_id = ANY ($1::text[])',
      [textArray(page.map((hold) => hold.requestId))],
    )
    const endedIds = new Set(ended.rows.map((row) => row.request_id))
    if (endedIds.size > 0) await load.writer.write(load.shard, [['HDEL', key.key, ...endedIds]])
    for (const hold of page) {
      if (endedIds.has(hold.requestId) || seen.has(hold.requestId)) continue
      seen.add(hold.requestId)
      held.add(hold)
    }
  }
}

/** An owner that has reported to this loading, but not in this shard, no longer needs its leases in this shard. */
async function keepLeases(load: ShardLoad, key: OwnedKey, held: HeldParts): Promise<void> {
  const { redis, writer, shard, reports } = load
  const leases = await listLeases(redis, [key])
  if (reports?.owners.has(key.owner) && (await redis.hget(key.key, 'load')) !== String(reports.loadNumber)) {
    const fields = leases.flatMap(({ field }) => [field, chargesField(field)])
    for (let i = 0; i < fields.length; i += load.limits.admissionLoadBatchMax) {
      await writer.write(shard, [['HDEL', key.key, ...fields.slice(i, i + load.limits.admissionLoadBatchMax)]])
    }
    return
  }
  for (const lease of leases) held.addLease(lease)
}

/**
 * Debits that are neither booked nor voided keep the amounts that they have taken. None is booked meanwhile, because the lock
 * on debits is held; see debits/debitLock.ts.
 */
async function keepOpenDebits(load: ShardLoad, held: HeldParts): Promise<void> {
  const seen = new Set<string>()
  for await (const page of readDebits(load.redis, load.shard)) {
    const ended = await load.pool.query<{ id: string }>('SELECT id FROM debits WHERE id = ANY ($1::text[])', [
      textArray(page.map((debit) => debit.debitId)),
    ])
    const endedIds = new Set(ended.rows.map((row) => row.id))
    if (endedIds.size > 0) await load.writer.write(load.shard, [['HDEL', debitsKey(load.shard), ...endedIds]])
    for (const debit of page) {
      if (endedIds.has(debit.debitId) || seen.has(debit.debitId)) continue
      seen.add(debit.debitId)
      held.addDebit(debit, false)
    }
  }
}

async function loadAccounts(load: ShardLoad, client: Client, held: HeldParts): Promise<void> {
  for (let after = ''; ; ) {
    const found = await client.query<AccountRow>(
      `SELECT a.account_id, a.seq, l.balance AS coin,
         (SELECT json_agg(json_build_object('id', p.id, 'expires', p.expires, 'units', pl.balance) ORDER BY p.expires, p.id)
          FROM (SELECT id, expires_at_ms AS expires, 'grant:' || id AS ledger_account FROM grants WHERE account_id = a.account_id
            UNION ALL
            SELECT s.id, s.ends_at_ms, 'lock:' || s.id || ':' || h.account_id
            FROM lock_holdings h JOIN lock_series s ON s.id = h.series_id
            WHERE h.account_id = a.account_id AND NOT h.is_dropped) p
          JOIN ledger_accounts pl ON pl.id = p.ledger_account WHERE pl.balance > 0) AS pots
       FROM admission_accounts a JOIN ledger_accounts l ON l.id = 'coin:' || a.account_id
       WHERE a.shard = $1 AND a.account_id > $2 ORDER BY a.account_id LIMIT $3`,
      [load.shard, after, load.limits.admissionLoadBatchMax],
    )
    const writes = found.rows.map((row): Write => {
      const coin = row.coin - (held.coinNanos.get(row.account_id) ?? 0)
      const pots = (row.pots ?? []).map(({ id, expires, units }) => {
        return `${id},${expires},${units - (held.potUnits.get(potAccount(id, row.account_id)) ?? 0)}`
      })
      const key = accountKey(load.shard, row.account_id)
      const out = held.out.get(row.account_id) ?? 0
      return ['HSET', key, 'coin', coin, 'g', pots.join(';'), 'seq', row.seq, 'out', out]
    })
    if (writes.length > 0) await load.writer.write(load.shard, writes)
    if (found.rows.length < load.limits.admissionLoadBatchMax) return
    after = found.rows.at(-1)?.account_id ?? after
  }
}

/**
 * Spending counters are the charges of a key and its sub-keys in the current windows, by the book, plus the amounts held in
 * them.
 */
async function loadKeys(load: ShardLoad, client: Client, held: HeldParts): Promise<void> {
  const windows = windowsAt(load.closedMs)
  for (const { platformKeyId, ...spending } of await readSubKeySpending(client, windows, load.shard)) {
    held.addSpending(platformKeyId, spending)
  }
  const unbooked = new Map(held.keyUnits)
  const write = async (rows: readonly KeyRow[]): Promise<void> => {
    const writes = rows.map(({ key_id, ...spending }): Write => {
      addSpending(spending, held.keyUnits.get(key_id) ?? noSpending())
      return ['HSET', keyCountersKey(load.shard, key_id), ...countersOf(spending, windows)]
    })
    if (writes.length > 0) await load.writer.write(load.shard, writes)
  }
  for (let after = ''; ; ) {
    const found = await client.query<KeyRow>(
      `SELECT key_id, ${spendingColumns(windows)}
       FROM key_usage WHERE shard = $1 AND key_id > $2 GROUP BY key_id ORDER BY key_id LIMIT $3`,
      [load.shard, after, load.limits.admissionLoadBatchMax],
    )
    await write(found.rows)
    for (const row of found.rows) unbooked.delete(row.key_id)
    if (found.rows.length < load.limits.admissionLoadBatchMax) break
    after = found.rows.at(-1)?.key_id ?? after
  }
  const rest = [...unbooked.keys()].map((key_id) => ({ key_id, ...noSpending() }))
  for (let i = 0; i < rest.length; i += load.limits.admissionLoadBatchMax) {
    await write(rest.slice(i, i + load.limits.admissionLoadBatchMax))
  }
}

/**
 * From here on, the streams' own ids are authoritative: they may have lost their newest entries and assigned lower ids since. An
 * entry that was read before and is booked from here on marks the shard as dirty. Waits for batches that are being booked, so
 * that the balances that are read next include them.
 */
async function rememberPositions(
  { redis, pool }: Pick<ShardLoad, 'redis' | 'pool'>,
  shards: readonly ClosedShard[],
): Promise<void> {
  const positions = new Map<number, StreamPosition>()
  for (const { shard, closedMs } of shards) {
    const last = parseStreamId((await lastEntryId(redis, shard)) ?? '0-0')
    positions.set(shard, { last, loadedMs: Math.max(closedMs, last.ms) })
  }
  await withTransaction(pool, async (client) => {
    await lockHeads(client, [...positions.keys()])
    await setPositions(client, positions)
  })
}
