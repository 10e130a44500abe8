// Goal: sums over many requests or accounts, which may be beyond what one account can hold, stop nothing: admission loads keys
// that have spent so much, reads answer exactly, and periods of revenue close.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { MAX_UNITS } from '../../../contract/money/units.ts'
import { newId } from '../../../contract/wire/ids.ts'
import { keyCountersKey, shardOf } from '../../../contract/wire/redisKeys.ts'
import { ensureAdmission } from '../../../control/admission/keeper.ts'
import { readMark } from '../../../control/audit/bookMark.ts'
import { lostSince } from '../../../control/audit/lostSince.ts'
import { coinAccount, PAYMENTS_IN, REVENUE, REWARDS, VAULT } from '../../../control/book/ledger/accounts.ts'
import { postTransfers } from '../../../control/book/ledger/postTransfers.ts'
import { readAllTime } from '../../../control/book/statistics/publicStatistics.ts'
import { readUsage } from '../../../control/book/usage/usageReads.ts'
import { closePeriod } from '../../../control/products/holders/rewards/closePeriod.ts'
import { movePayout } from '../../../control/products/holders/rewards/payoutRow.ts'
import { withTransaction } from '../../../control/runtime/db/pool.ts'
import { limitsWith } from '../../support/limits.ts'
import { type Book, ensureOpen, log, newAccount, scalar, startBook } from '../../support/parts/ledger.ts'

const limits = limitsWith({ revenueCloseDelayMs: 1 })
const WIDE = 2n * BigInt(MAX_UNITS)
const FULL_WALLET = `0x${'1'.repeat(40)}` as const
const OTHER_WALLET = `0x${'2'.repeat(40)}` as const
const TOKEN = `0x${'3'.repeat(40)}` as const

let book: Book
before(async () => {
  book = await startBook()
})
after(() => book.stop())

const balance = (id: string) =>
  scalar<string>(book.pool, 'SELECT balance::text FROM ledger_accounts WHERE id = $1', [id]).then(BigInt)

test('a key that has spent more than a cap can be is loaded as one that is at its largest cap', async () => {
  const accountId = await newAccount(book.pool, 5)
  const [keyId, shard] = [newId('key'), shardOf(accountId)]
  for (const hour of [1, 2]) {
    await book.pool.query(
      'INSERT INTO key_usage (key_id, hour, account_id, shard, units, requests) VALUES ($1, $2, $3, $4, $5, 1)',
      [keyId, hour, accountId, shard, MAX_UNITS],
    )
  }
  assert.equal(await ensureAdmission({ ...book, log, limits }), 'rebuilt')
  assert.equal(await book.redis.hget(keyCountersKey(shard, keyId), 'bs'), String(MAX_UNITS))
  await book.pool.query('DELETE FROM key_usage WHERE key_id = $1', [keyId])
})

test('the usage of an account, the statistics of all time and the mark of the book are exact', async () => {
  const accountId = await newAccount(book.pool, 0)
  for (const model of ['a', 'b']) {
    await book.pool.query(
      `INSERT INTO usage_days (account_id, day, key_id, model, requests, units, input_tokens, cached_input_tokens, output_tokens)
       VALUES ($1, 20000, 'key_1', $2, 1, $3, 1, 0, 1)`,
      [accountId, model, MAX_UNITS],
    )
    await book.pool.query(
      `INSERT INTO public_statistics (day, model, requests, ok, ended_by_client, failed, units, input_tokens, cached_input_tokens,
         cache_write_5m_tokens, cache_write_1h_tokens, output_tokens, reasoning_tokens, durations, first_tokens)
       VALUES (20000, $1, 1, 1, 0, 0, $2, 1, 0, 0, 0, 1, 0, '[]', '[]')`,
      [model, MAX_UNITS],
    )
  }
  const days = { fromDay: 20_000, toDay: 20_000, groupBy: ['day' as const], limit: 5, after: '' }
  const usage = await readUsage(book.pool, { accountId, model: '', keyId: '', platformKeyId: '', ...days }, limits)
  assert.deepEqual(usage.total?.cost, { units: String(WIDE), usd: '18014398.509481982' })
  assert.equal((await readAllTime(book.pool, null)).units, WIDE)

  const then = await readMark(book.pool)
  for (const _ of [1, 2]) await newAccount(book.pool, MAX_UNITS)
  const now = await readMark(book.pool)
  const paidIn = BigInt(then.balances[PAYMENTS_IN] ?? 0) - WIDE
  assert.equal(now.balances[PAYMENTS_IN], String(paidIn))
  assert.equal((await lostSince(book.pool, then, now)).balances[PAYMENTS_IN], String(WIDE))
})

test('a period closes whose shares are beyond what one account can hold; an account that is full is paid by the root', async () => {
  const payers = await Promise.all([1, 2, 3, 4].map(() => newAccount(book.pool, MAX_UNITS)))
  const [full, other] = [await newAccount(book.pool, MAX_UNITS), await newAccount(book.pool, 0)]
  await ensureOpen(book)
  const coin = { id: 'coin', address: TOKEN, decimals: 18, usdUnits: 0, name: 'Coin', version: '1' }
  const settings = {
    coin: coin as never,
    vault: FULL_WALLET,
    vaultShareBps: 5_000,
    distributor: TOKEN,
    rewardsFor: 'coin' as const,
    token: TOKEN,
    fromBlock: 0,
    minNanos: 1,
    creditsAccounts: true,
    excluded: [],
    periodSeconds: 1,
  }
  const wallets = new Map([
    [FULL_WALLET, full],
    [OTHER_WALLET, other],
  ])
  const close = () =>
    closePeriod(book.pool, {
      settings,
      excluded: [],
      coinUsdUnits: async () => 1_000_000_000,
      accountsOfWallets: async (_client, addresses) =>
        new Map([...wallets].filter(([address]) => addresses.includes(address))),
      limits,
    })
  const seconds = Math.floor(Date.now() / 1_000) + 3_600
  await book.pool.query('INSERT INTO reward_scan (token, block, block_time, base_block) VALUES ($1, 1, $2, 1)', [
    TOKEN,
    seconds,
  ])
  // The one that is full has nearly all tokens.
  await book.pool.query('INSERT INTO reward_balances (address, amount) VALUES ($1, 999999), ($2, 1)', [
    FULL_WALLET,
    OTHER_WALLET,
  ])
  assert.equal((await close())?.number, 0)
  await postTransfers(
    book.pool,
    payers.map((payer) => ({
      kind: 'fee',
      ref: newId('evt'),
      debit: coinAccount(payer),
      credit: REVENUE,
      units: MAX_UNITS,
    })),
  )
  let closed = await close()
  while (closed === undefined || closed.netUnits === 0n) closed = await close()
  const half = WIDE
  const least = half / 1_000_000n
  assert.deepEqual([closed.netUnits, closed.rewardNanos, closed.vaultNanos], [2n * WIDE, half, half])
  assert.equal(closed.creditedNanos, least)
  assert.deepEqual([await balance(coinAccount(full)), await balance(coinAccount(other))], [BigInt(MAX_UNITS), least])
  assert.deepEqual([await balance(REWARDS), await balance(VAULT)], [closed.paidNanos, half])
  const { number } = closed
  for (const purpose of ['reward', 'vault'] as const) {
    await withTransaction(book.pool, (client) => movePayout(client, purpose, `${number}#1`, 'sent'))
  }
  assert.deepEqual([await balance(REWARDS), await balance(VAULT)], [0n, 0n])
})
