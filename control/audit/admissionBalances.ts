import type { Redis } from '../../contract/wire/redis.ts'
import { accountKey } from '../../contract/wire/redisKeys.ts'
import { pipelineOf } from '../../contract/wire/redisShards.ts'
import type { HeldParts } from '../admission/heldParts.ts'
import { answersOf } from '../admission/scripts.ts'
import { coinAccount, potAccount } from '../book/ledger/accounts.ts'
import { textArray } from '../runtime/db/arrays.ts'
import type { Client } from '../runtime/db/pool.ts'
import type { Faults } from './check.ts'
import type { AuditLimits } from './limits.ts'
import type { Unread } from './unread.ts'

interface AccountRow {
  readonly account_id: string
  readonly shard: number
  readonly coin: number
  /** Grants and holdings. */
  readonly pots: { id: string; units: number; until: number }[] | null
}

interface EventRow {
  readonly account_id: string
  readonly seq: number
  readonly coin_delta: number
  readonly grant_id: string | null
}

type RedisAccount = [coin: string | null, grants: string | null, seq: string | null, out: string | null]

const PAGE = `
  SELECT a.account_id, a.shard, l.balance AS coin,
    (SELECT json_agg(json_build_object('id', p.id, 'units', pl.balance, 'until', p.until))
     FROM (SELECT id, 'grant:' || id AS ledger_account, expires_at_ms AS until FROM grants WHERE account_id = a.account_id
       UNION ALL
       SELECT h.series_id, 'lock:' || h.series_id || ':' || h.account_id, s.ends_at_ms
       FROM lock_holdings h JOIN lock_series s ON s.id = h.series_id WHERE h.account_id = a.account_id) p
     JOIN ledger_accounts pl ON pl.id = p.ledger_account) AS pots
  FROM admission_accounts a JOIN ledger_accounts l ON l.id = 'coin:' || a.account_id
  WHERE a.account_id > $1 ORDER BY a.account_id LIMIT $2`

/** Amounts by which the free balances in Redis differ from the book. */
interface Apart {
  readonly unread: Unread
  readonly held: HeldParts
}

/**
 * Compares every account in Redis with the book: the sum of the free, held and leased amounts has to equal the balance of the
 * book, less the entries that wait in the streams and in the outbox. The account's counter of leased amounts has to equal the
 * sum of its leases.
 * @returns the number of accounts
 */
export async function compareBalances(
  client: Client,
  redis: Redis,
  apart: Apart,
  faults: Faults,
  limits: AuditLimits,
): Promise<number> {
  let count = 0
  for (let after = ''; ; ) {
    const page = await client.query<AccountRow>(PAGE, [after, limits.auditPageMax])
    const pipeline = pipelineOf(redis)
    for (const row of page.rows) pipeline.hmget(accountKey(row.shard, row.account_id), 'coin', 'g', 'seq', 'out')
    const accounts = answersOf(await pipeline.exec()) as RedisAccount[]
    const events = await client.query<EventRow>(
      'SELECT account_id, seq, coin_delta, grant_id FROM admission_events WHERE account_id = ANY ($1::text[])',
      [textArray(page.rows.map((row) => row.account_id))],
    )
    for (const [i, row] of page.rows.entries()) {
      const own = events.rows.filter((event) => event.account_id === row.account_id)
      compareAccount(row, accounts[i] ?? [null, null, null, null], own, apart, faults)
    }
    count += page.rows.length
    if (page.rows.length < limits.auditPageMax) return count
    after = page.rows.at(-1)?.account_id ?? after
  }
}

function compareAccount(
  row: AccountRow,
  [coin, grants, seq, out]: RedisAccount,
  events: readonly EventRow[],
  { unread, held }: Apart,
  faults: Faults,
): void {
  const waiting = events.filter((event) => event.seq > Number(seq ?? 0))
  const waitingCoin = waiting.reduce((sum, event) => sum + event.coin_delta, 0)
  const waitingPots = new Set(waiting.map((event) => event.grant_id))
  const fromUnread = (account: string): number => unread.amounts.get(account) ?? 0

  const has = Number(coin ?? 0) + (held.coinNanos.get(row.account_id) ?? 0)
  const owns = row.coin - fromUnread(coinAccount(row.account_id)) - waitingCoin
  if (has !== owns) faults.add(`${row.account_id} has ${has} nanos of coin in Redis, ${owns} by the book`)

  const leased = held.out.get(row.account_id) ?? 0
  if (Number(out ?? 0) !== leased) faults.add(`${row.account_id} has ${out} out in leases, which have ${leased}`)

  const free = new Map<string, number>()
  const ends = new Map<string, number>()
  for (const grant of (grants ?? '').split(';')) {
    const [id = '', end, units] = grant.split(',')
    if (id === '') continue
    free.set(id, Number(units))
    ends.set(id, Number(end))
  }
  for (const { id, units, until } of row.pots ?? []) {
    if (waitingPots.has(id)) {
      free.delete(id)
      continue
    }
    const inRedis = (free.get(id) ?? 0) + (held.potUnits.get(potAccount(id, row.account_id)) ?? 0)
    const inBook = units - fromUnread(potAccount(id, row.account_id))
    if (inRedis !== inBook) faults.add(`${id} of ${row.account_id} has ${inRedis} in Redis, ${inBook} by the book`)
    const end = ends.get(id) ?? until
    if (end !== until) faults.add(`${id} of ${row.account_id} expires at ${end} in Redis, ${until} by the book`)
    free.delete(id)
  }
  for (const id of free.keys()) faults.add(`${id} of ${row.account_id} is in Redis and not in the book`)
}
