import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import { pino } from 'pino'
import { UNITS_PER_USD } from '../../../contract/money/units.ts'
import { NO_CAPS } from '../../../contract/money/windows.ts'
import { capArguments } from '../../../contract/wire/caps.ts'
import { sluice } from '../../../contract/wire/generated/messages.js'
import { newId } from '../../../contract/wire/ids.ts'
import { connectRedis, type Redis } from '../../../contract/wire/redis.ts'
import {
  accountKey,
  epochKey,
  holdsKey,
  keyCountersKey,
  ledgerStream,
  SHARD_COUNT,
  settleKeys,
  shardOf,
} from '../../../contract/wire/redisKeys.ts'
import { defineScript } from '../../../contract/wire/scripts.ts'
import { EventDispatcher } from '../../../control/admission/dispatcher.ts'
import { drainStream } from '../../../control/admission/drainStream.ts'
import { HoldVoider } from '../../../control/admission/holdVoider.ts'
import { ensureAdmission } from '../../../control/admission/keeper.ts'
import { OrphanVoider } from '../../../control/admission/orphanVoider.ts'
import { runAudit } from '../../../control/audit/runAudit.ts'
import { creditCoin } from '../../../control/book/ledger/creditCoin.ts'
import { openAccount } from '../../../control/book/ledger/openAccount.ts'
import type { Entry } from '../../../control/book/settlement/entry.ts'
import { parseEntries } from '../../../control/book/settlement/openEntry.ts'
import { ensureGroups, readGroup } from '../../../control/book/settlement/streamReader.ts'
import { migrate } from '../../../control/runtime/db/migrate.ts'
import { createPool, type Pool, withTransaction } from '../../../control/runtime/db/pool.ts'
import { type LimitChanges, ledgerLimits as limits } from '../limits.ts'
import { freshDatabase, startTestRedis, type TestServer } from '../services.ts'

export const log = pino({ level: process.env['TEST_LOG_LEVEL'] ?? 'silent' })

/** A database and a Redis of the test's own, with the schema of the book. */
export interface Book {
  readonly pool: Pool
  readonly redis: Redis
  readonly redisServer: TestServer
  stop(): Promise<void>
}

/** @param databaseUrl of an empty database; one is made when absent */
export async function startBook(databaseUrl?: string): Promise<Book> {
  const redisServer = await startTestRedis()
  const pool = createPool(databaseUrl ?? (await freshDatabase()), limits)
  const redis = connectRedis(redisServer.url, 'wait')
  redis.on('error', () => {})
  await migrate(pool)
  return {
    pool,
    redis,
    redisServer,
    async stop() {
      redis.disconnect()
      await pool.end()
      await redisServer.stop()
    },
  }
}

/** Opens an account with coin, and does not wait for admission. */
export async function newAccount(pool: Pool, coinNanos: number): Promise<string> {
  const accountId = newId('acct')
  await withTransaction(pool, async (client) => {
    await openAccount(client, accountId)
    if (coinNanos > 0)
      await creditCoin(client, { accountId, nanos: coinNanos, units: coinNanos, ref: `pay-${accountId}` })
  })
  return accountId
}

/** Opens admission, or brings it back to what the book says. @returns what was to be done */
export const ensureOpen = ({ pool, redis }: Book, changes: LimitChanges = {}): ReturnType<typeof ensureAdmission> =>
  ensureAdmission({ pool, redis, log, limits: { ...limits, ...changes } })

/** As `ensureOpen`, where every process reports its leases, and may stand still for long before. */
export const ensureReported = (book: Book): ReturnType<typeof ensureAdmission> =>
  ensureOpen(book, { leaseReportMs: 30_000 })

/** What ends the holds and leases of those who are gone. */
export function orphanVoider({ redis }: Pick<Book, 'redis'>): OrphanVoider {
  return new OrphanVoider({ redis, log, voider: new HoldVoider({ redis, log, limits }), limits })
}

/** Has Redis take what waits in the outbox. */
export async function dispatchEvents({ pool, redis }: Book): Promise<void> {
  const dispatcher = new EventDispatcher({ pool, redis, log, limits })
  const waiting = () => scalar<number>(pool, 'SELECT count(*) FROM admission_events')
  await until('the outbox is empty', async () => (await waiting()) === 0).finally(() => dispatcher.stop())
}

/** Opens an account whose coin can be spent. */
export async function fundedAccount(book: Book, coinNanos: number): Promise<string> {
  const accountId = await newAccount(book.pool, coinNanos)
  await ensureOpen(book)
  await dispatchEvents(book)
  return accountId
}

/** Books everything that waits in the streams. */
export async function drainAll({ pool, redis }: Book): Promise<void> {
  for (let shard = 0; shard < SHARD_COUNT; shard++) await drainStream(redis, pool, shard, limits)
}

/** What waits in the streams, as a consumer has it in hand that has not booked it yet. */
export async function takeInHand({ redis }: Book, consumer = 'slow'): Promise<Entry[]> {
  await ensureGroups(redis)
  return parseEntries(await readGroup(redis, consumer, '>', { countPerStream: 100 }))
}

/** Settles with defaults for what a test does not care about. */
export function settlementOf(changes: Partial<sluice.ISettlement> & { requestId: string; accountId: string }): Buffer {
  const settlement = {
    keyId: changes.accountId.replace('acct', 'key'),
    model: 'acme/chat-small',
    endpoint: 'chat',
    provider: 'acme',
    sheetVersion: 1,
    status: sluice.Status.OK,
    holdUnits: 1_000_000,
    usage: { input: 10, output: 5 },
    usageSource: sluice.UsageSource.REPORTED,
    startedAtMs: 1_700_000_000_000,
    durationMs: 12,
    ...changes,
  }
  return Buffer.from(sluice.Settlement.encode(settlement).finish())
}

/** The key of a test's request, and the caps of its platform key when it is a sub-key; '' is no cap. */
export interface TestKey {
  readonly keyId: string
  readonly platform?: { keyId: string; caps: readonly string[] }
}

const keyFor = (accountId: string): TestKey => ({ keyId: accountId.replace('acct', 'key') })

/** What a proxy does: takes holds and ends them by the scripts of the contract. */
export class TestProxy {
  readonly owner: string
  /** Units in one coin, by which it holds. */
  coinUsdUnits = UNITS_PER_USD
  private readonly redis: Redis
  private readonly holdScript: ReturnType<typeof defineScript>
  private readonly settleScript: ReturnType<typeof defineScript>
  private readonly beatScript: ReturnType<typeof defineScript>

  constructor(redis: Redis, owner: string = newId('own')) {
    this.owner = owner
    this.redis = redis
    this.holdScript = defineScript(redis, 'hold')
    this.settleScript = defineScript(redis, 'settle')
    this.beatScript = defineScript(redis, 'heartbeat')
  }

  async beat(): Promise<void> {
    await this.beatScript(['owners'], [this.owner])
  }

  /** @returns the code of hold.lua and the units held */
  async hold(
    accountId: string,
    requestId: string,
    want: number,
    least = want,
    { keyId, platform }: TestKey = keyFor(accountId),
  ): Promise<{ code: number; units: number }> {
    const shard = shardOf(accountId)
    const reply = (await this.holdScript(
      [
        epochKey(shard),
        accountKey(shard, accountId),
        keyCountersKey(shard, keyId),
        holdsKey(shard, this.owner),
        ledgerStream(shard),
        ...(platform === undefined ? [] : [keyCountersKey(shard, platform.keyId)]),
      ],
      [
        1,
        1_000_000,
        requestId,
        accountId,
        keyId,
        want,
        least,
        ...capArguments(NO_CAPS),
        '',
        'acme/chat-small,chat,1,1',
        this.coinUsdUnits,
        ...(platform === undefined ? [] : [0, platform.keyId, ...platform.caps]),
      ],
    )) as (number | string)[]
    return { code: Number(reply[1]), units: Number(reply[2]) }
  }

  /** Holds for a new request. @returns its id */
  async newHold(accountId: string, units: number): Promise<string> {
    const requestId = newId('req')
    await this.hold(accountId, requestId, units)
    return requestId
  }

  /** A request that is held and ended. @param charge units, or -1 to void. @returns its id */
  async serve(accountId: string, charge: number, holdUnits = charge): Promise<string> {
    const requestId = await this.newHold(accountId, holdUnits)
    await this.settle(accountId, requestId, charge, holdUnits)
    return requestId
  }

  /** @param charge units, or -1 to void. @returns the code of settle.lua and the units charged */
  async settle(
    accountId: string,
    requestId: string,
    charge: number,
    holdUnits: number,
    { keyId }: TestKey = keyFor(accountId),
  ): Promise<{ code: number; units: number }> {
    const shard = shardOf(accountId)
    const settlement = settlementOf({
      requestId,
      accountId,
      keyId,
      holdUnits,
      chargeUnits: Math.max(charge, 0),
      status: charge < 0 ? sluice.Status.FAILED : sluice.Status.OK,
    })
    const reply = (await this.settleScript(settleKeys(shard, accountId, keyId, this.owner), [
      1,
      5,
      requestId,
      charge,
      settlement,
    ])) as number[]
    return { code: Number(reply[0]), units: Number(reply[1]) }
  }

  /** Units of coin that Redis has free for an account; undefined when it does not know it. */
  async freeCoin(accountId: string): Promise<number | undefined> {
    const coin = await this.redis.hget(accountKey(shardOf(accountId), accountId), 'coin')
    return coin === null ? undefined : Number(coin)
  }
}

/** Appends an entry to a ledger stream as settle.lua would. */
export async function appendEnded(
  redis: Redis,
  settlement: Buffer,
  accountId: string,
  charged: number,
  split = charged > 0 ? `coin=${charged}` : '',
): Promise<string> {
  const fields = ['e', settlement, 'c', charged, 't', Date.now(), 's', split]
  return String(await redis.xadd(ledgerStream(shardOf(accountId)), '*', ...fields))
}

/** Waits until `probe` answers true. @throws Error with `what` after `timeoutMs` */
export async function until(what: string, probe: () => Promise<boolean>, timeoutMs = 60_000): Promise<void> {
  const deadline = performance.now() + timeoutMs
  while (!(await probe())) {
    if (performance.now() > deadline) throw new Error(`not within ${timeoutMs} ms: ${what}`)
    await sleep(20)
  }
}

/** The check that finds amounts which a test books itself, under no kind of the gateway's. */
export const KINDS_CHECK = 'every transfer is of a known kind, between its accounts'

/** Fails with what is wrong unless every check of the audit holds. @param apart checks that are left out */
export async function assertCleanAudit(book: Book, ...apart: readonly string[]): Promise<void> {
  const patient = { ...limits, auditRechecksMax: 10 }
  const failed = (await runAudit(book.pool, book.redis, patient)).filter(({ ok, name }) => !ok && !apart.includes(name))
  assert.deepEqual(failed, [])
}

/** Whether control has noticed everything that happened to Redis: its process is the known one, every shard is open. */
export async function admissionIsOpen(book: Book): Promise<boolean> {
  const found = await book.pool.query<{ epoch: string; redis_run_id: string }>('SELECT * FROM admission_state')
  const state = found.rows[0]
  const epochs = await Promise.all(Array.from({ length: SHARD_COUNT }, (_, shard) => book.redis.get(epochKey(shard))))
  const server = await book.redis.info('server')
  return (
    epochs.every((epoch) => epoch === state?.epoch) && server.includes(`run_id:${state?.redis_run_id.split('/')[0]}`)
  )
}

/** The value in the first column of the only row. */
export async function scalar<T>(pool: Pool, sql: string, values: unknown[] = []): Promise<T> {
  const found = await pool.query({ text: sql, values, rowMode: 'array' })
  return (found.rows as unknown[][])[0]?.[0] as T
}
