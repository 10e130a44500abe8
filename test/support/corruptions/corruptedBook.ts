import { createHash } from 'node:crypto'
import type { Address } from '../../../contract/payments/address.ts'
import { newId } from '../../../contract/wire/ids.ts'
import { leasesKey, shardOf } from '../../../contract/wire/redisKeys.ts'
import { NoteKey } from '../../../control/book/checkpoint/noteKey.ts'
import { signCheckpoint } from '../../../control/book/checkpoint/signCheckpoint.ts'
import { monthStartMs } from '../../../control/book/partitions/idTime.ts'
import { noteOwner } from '../../../control/book/settlement/proxyOwners.ts'
import { openNewAccount } from '../../../control/identity/accounts/accounts.ts'
import { endKey, makeKey } from '../../../control/identity/keys/keyChanges.ts'
import { type CloseOptions, closePeriod } from '../../../control/products/holders/rewards/closePeriod.ts'
import { insertBatch } from '../../../control/products/settlements/batchRow.ts'
import { newBatch } from '../../../control/products/settlements/newBatch.ts'
import { claimLink, createLink } from '../../../control/products/transfers/links/links.ts'
import { archiveMonth } from '../../../control/records/archive/archiveMonth.ts'
import { OPERATOR } from '../../../control/runtime/activity/activity.ts'
import { withTransaction } from '../../../control/runtime/db/pool.ts'
import { limitsWith } from '../limits.ts'
import { TEST_LOG_KEY } from '../logKey.ts'
import { countAll } from '../parts/countAll.ts'
import { appendEndings, endedOf } from '../parts/endings.ts'
import { ensureOpen, scalar, until } from '../parts/ledger.ts'
import { burnt, LockMarket, MICRO_UNITS, OFFER_NANOS } from '../parts/lockMarket.ts'
import { bookWithdrawal } from '../parts/outgoingMoney.ts'
import { addPastMonths } from '../parts/pastMonths.ts'
import { assetsOf, type PaymentBench, startPaymentBench } from '../parts/payments.ts'
import { makeTempDir, removeTempDir } from '../tempDir.ts'
import type { Corrupted } from './corruption.ts'

const USD = 1_000_000_000
const PAST_MONTHS = 4
const ARCHIVED_BACK = -2
const CHECKPOINTS = 20
export const KEY = NoteKey.of(TEST_LOG_KEY)
/** Everything in little time, and an audit that looks once. */
export const limits = limitsWith({
  auditRechecksMax: 1,
  chainTimeoutMs: 8_000,
  chainSweepMs: 100,
  chainScanMs: 100,
  chainPollMs: 50,
  paymentMarginMs: 500,
  paymentCloseMs: 50,
  refundCheckMs: 50,
  withdrawalCheckMs: 50,
  gasPriceKeptMs: 100,
  settlementBlockMs: 100,
  settlementRetryMs: 50,
  admissionPollMs: 20,
  admissionCheckMs: 50,
  checkpointMs: 0,
  revenueCloseDelayMs: 0,
  lockOrderUnitsMin: 0,
})
const SHEET = {
  version: '0',
  rate_lock: { days: 30, valid_until: new Date(0).toISOString() },
  coin: { usd: '1' },
  models: [
    {
      id: 'acme/chat-small',
      price: { input: '9', output: '9' },
      rate_locked_until: new Date(0).toISOString(),
      routes: [{ provider: 'acme' }],
    },
  ],
}
const holder = (digit: string): Address => `0x${digit.repeat(40)}` as Address

/**
 * A book in which everything has happened once, made by the gateway's own parts over a chain: requests of all kinds of pots, a
 * link, orders of compute locks, a payment with its refund, a deposit, a withdrawal, a period of revenue, checkpoints, a
 * settlement batch, and a month that was put away. Nothing runs any more when it is handed out.
 */
export async function makeBook(): Promise<Corrupted> {
  const bench = await startPaymentBench({}, limits)
  return made(bench).catch(async (error) => {
    await bench.stop()
    throw error
  })
}

async function made(bench: PaymentBench): Promise<Corrupted> {
  const { pool } = bench.book
  await addPastMonths(pool, PAST_MONTHS)
  await publishSheet(bench)
  const accounts = await openAccounts(bench)
  await beginRevenue(bench)
  await dispatched(bench)
  await serveRequests(bench, accounts)
  await moveMoney(bench, accounts)
  await trade(bench, accounts)
  await bench.settled()
  const checkpoint = () => signCheckpoint(pool, KEY, limits)
  await checkpoint()
  const archiveDir = await putMonthAway(bench, accounts)
  await signMany(bench, accounts)
  await serveOne(bench, accounts)
  await checkpoint()
  await shareRevenue(bench)
  await cutBatch(bench)
  await bench.standStill()
  await ensureOpen(bench.book)
  const grants = await pool.query<{ id: string }>('SELECT id FROM grants WHERE account_id = $1', [accounts.accountId])
  return {
    ...bench.book,
    ...accounts,
    grantId: grants.rows[0]?.id ?? '',
    proxyOwner: bench.proxy.owner,
    archiveDir,
    rpcUrl: bench.chain.rpcUrl,
    async stop() {
      await bench.stop()
      removeTempDir(archiveDir)
    },
  }
}

interface Accounts extends Pick<Corrupted, 'accountId' | 'keyId' | 'otherId' | 'otherKeyId'> {
  readonly market: LockMarket
}

async function publishSheet({ book: { pool } }: PaymentBench): Promise<void> {
  const text = JSON.stringify(SHEET)
  await pool.query(
    `INSERT INTO price_sheets (version, published_at, valid_until, content_hash, sheet) VALUES (1, now(), now() + interval '1 day', $1, $2)`,
    [createHash('sha256').update(text).digest('hex'), text],
  )
  await pool.query(`INSERT INTO catalog_records (sheet_version, published_at, record) VALUES (1, now(), '')`)
}

/** What accounts have got can be spent. */
function dispatched({ book: { pool } }: PaymentBench): Promise<void> {
  return until('admission is told', async () => (await scalar(pool, 'SELECT count(*) FROM admission_events')) === 0)
}

/** Two accounts with coin, credits and a key; the key of the second is revoked. */
async function openAccounts({ book }: PaymentBench): Promise<Accounts> {
  const { pool } = book
  const open = async (creditUnits: number) => {
    const id = await openNewAccount(pool, limits, { coinNanos: 10 * USD, creditUnits })
    const settings = { caps: { life: USD, day: USD / 2 } }
    const made = await withTransaction(pool, (client) => makeKey(client, OPERATOR, id, settings))
    return { id, keyId: made.key.id }
  }
  const [own, other] = [await open(500), await open(700)]
  await withTransaction(pool, (client) => endKey(client, OPERATOR, other.keyId))
  return {
    accountId: own.id,
    keyId: own.keyId,
    otherId: other.id,
    otherKeyId: other.keyId,
    market: new LockMarket(book),
  }
}

/** Requests that are charged and some that are not, by holds of their own and from a lease. */
async function serveRequests({ book, proxy }: PaymentBench, { accountId, keyId }: Accounts): Promise<void> {
  for (let i = 0; i < 30; i++) {
    const requestId = newId('req')
    await proxy.hold(accountId, requestId, 100, 100, { keyId })
    await proxy.settle(accountId, requestId, i % 10 === 0 ? -1 : 60, 100, { keyId })
  }
  const tagged = { endUser: 'alice', tags: 'team=search', tagsSalt: 'salt' }
  const ending = endedOf({ accountId, charge: -1, settlement: { keyId, ...tagged } })
  await noteOwner(book.pool, proxy.owner)
  await book.redis.hset(leasesKey(shardOf(accountId), proxy.owner), 'seq', 1)
  await appendEndings(book.redis, accountId, proxy.owner, 1, [ending])
}

async function serveOne({ book, proxy }: PaymentBench, { accountId, keyId }: Accounts): Promise<void> {
  const requestId = newId('req')
  await until('admission is open', async () => {
    return (await proxy.hold(accountId, requestId, 100, 100, { keyId })).code === 0
  })
  await proxy.settle(accountId, requestId, 60, 100, { keyId })
  await until('the last request is booked', async () => {
    return (await scalar(book.pool, 'SELECT count(*) FROM receipts WHERE request_id = $1', [requestId])) === 1
  })
}

/** Checkpoints whose new heads are of two logs by turns, and so many that nodes of the log of heads are stored. */
async function signMany({ book }: PaymentBench, { accountId, otherId, market }: Accounts): Promise<void> {
  for (let i = 0; i < CHECKPOINTS; i++) {
    await market.settle({ accountId: i % 2 === 0 ? accountId : otherId, charge: -1 })
    await signCheckpoint(book.pool, KEY, limits)
  }
}

/** A link that is claimed and one that is open, a paid request, a deposit, a withdrawal. */
async function moveMoney(bench: PaymentBench, { accountId, otherId, market }: Accounts): Promise<void> {
  const worth = { accountId, nanos: 2_000, units: 2_000, note: '', expiresAtMs: Date.now() + 86_400_000 }
  const link = () => market.inUndoable((made) => createLink(made, market.debits, OPERATOR, worth))
  const [{ token }] = [await link(), await link()]
  await withTransaction(bench.book.pool, (client) => claimLink(client, OPERATOR, token, otherId))
  const [payer, order] = await bench.newOrder()
  bench.wallets.set(payer.address.toLowerCase(), otherId)
  await bench.settle(order)
  await bench.serve(order, 1_000)
  await bench.chain.transfer('stablecoin', payer, bench.chain.treasury.address, 5_000_000n)
  await bench.chain.fillTreasury()
  const { address } = assetsOf(bench.chain).stablecoin
  const sent = { wallet: holder('e'), asset: 'stablecoin', token: address, amount: 1_000_000n } as const
  const id = await bookWithdrawal(bench.book.pool, { accountId, ...sent, nanos: USD, units: USD })
  await bench.chain.client.mine({ blocks: 2 })
  await until('the withdrawal is sent', async () => {
    return (await bench.scalar('SELECT state FROM withdrawals WHERE id = $1', id)) === 'sent'
  })
}

/** Tokens of a series are bought, offered, bid for and burnt. */
async function trade(bench: PaymentBench, { accountId, otherId, keyId, market }: Accounts): Promise<void> {
  const series = await market.issue()
  const micros = 1_000_000
  await market.trade(series, { accountId, side: 'buy', micros })
  await market.trade(series, { accountId: otherId, side: 'buy', micros })
  await dispatched(bench)
  await market.trade(series, { accountId: otherId, side: 'sell', micros: micros / 2, priceNanos: 2 * OFFER_NANOS })
  await market.trade(series, { accountId, side: 'buy', micros, priceNanos: OFFER_NANOS / 2 })
  const ending = burnt(series, accountId, 5 * MICRO_UNITS)
  await market.settle({ ...ending, settlement: { ...ending.settlement, keyId } })
}

/** Requests of a past month are booked and put away, with their leaves. @returns the folder */
async function putMonthAway({ book }: PaymentBench, { accountId, keyId, market }: Accounts): Promise<string> {
  const dir = makeTempDir('corrupted')
  const atMs = monthStartMs(Date.now(), ARCHIVED_BACK) + 3_600_000
  for (let i = 0; i < 5; i++)
    await market.settle({
      accountId,
      charge: 40,
      requestId: newId('req', atMs),
      settlement: { keyId, startedAtMs: atMs, endUser: 'carol', tags: 'team=archive', tagsSalt: 'salt' },
    })
  await countAll(book.pool)
  await ensureOpen(book)
  await signCheckpoint(book.pool, KEY, limits)
  await archiveMonth({ ...book, dir, limits }, new Date(atMs).toISOString().slice(0, 7))
  return dir
}

const REVENUE: CloseOptions = {
  settings: {
    coin: {
      id: 'coin',
      address: holder('c'),
      decimals: 18,
      name: 'C',
      version: '1',
      method: 'eip3009',
      usdUnits: 0,
    },
    vault: holder('b'),
    vaultShareBps: 1_000,
    distributor: holder('d'),
    rewardsFor: 'coin',
    token: holder('c'),
    fromBlock: 0,
    minNanos: 0,
    creditsAccounts: true,
    excluded: [],
    periodSeconds: 1,
  },
  excluded: [],
  coinUsdUnits: async () => USD,
  accountsOfWallets: async () => new Map(),
  limits,
}

/** Revenue counts from now on, and two wallets have as much of the token. */
async function beginRevenue({ book: { pool } }: PaymentBench): Promise<void> {
  await closePeriod(pool, REVENUE)
  await pool.query('INSERT INTO reward_balances (address, amount) VALUES ($1, 5), ($2, 5)', [holder('1'), holder('2')])
}

async function shareRevenue({ book: { pool } }: PaymentBench): Promise<void> {
  await pool.query(
    `INSERT INTO reward_scan (token, block, base_block, block_time) VALUES ($1, 1, 1, extract(epoch FROM now())::bigint + 60)`,
    [holder('c')],
  )
  await until('a period has revenue', async () => ((await closePeriod(pool, REVENUE))?.rewardUnits ?? 0n) > 0n)
}

async function cutBatch({ book: { pool }, chain, payments }: PaymentBench): Promise<void> {
  const { config } = payments
  const treasury = config.treasury.address
  const reserve = { treasury, assets: config.assets, coinUsdUnits: USD }
  const batch = await newBatch(pool, 0, {
    accountsMin: 1,
    chain: payments.service.chain,
    chainId: chain.chainId,
    reserve,
    limits,
  })
  if (batch === undefined) throw new Error('there is no checkpoint to make a batch of')
  await insertBatch(pool, batch)
}
