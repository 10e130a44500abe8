// Goal: an account that is too full for its coin delays nobody else's, and gets what comes back to it once it has room.
// Method: what returns and pays coin runs over a book of the test, with accounts filled up to what one can hold.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { resolveRateSet } from '../../../contract/money/charge.ts'
import { MAX_UNITS } from '../../../contract/money/units.ts'
import { newId } from '../../../contract/wire/ids.ts'
import { insertAccount } from '../../../control/book/ledger/accountRow.ts'
import { coinAccount, REVENUE } from '../../../control/book/ledger/accounts.ts'
import { creditCoin } from '../../../control/book/ledger/creditCoin.ts'
import { quoteBuy } from '../../../control/products/locks/quotes.ts'
import type { LockSeries } from '../../../control/products/locks/series.ts'
import { seriesKeeper } from '../../../control/products/locks/seriesKeeper.ts'
import { TICK_NANOS } from '../../../control/products/locks/tradeAmounts.ts'
import { admissionsOf, type ProviderAdmission } from '../../../control/products/marketplace/serving/admission.ts'
import { probe } from '../../../control/products/marketplace/serving/probe.ts'
import { linkExpirer } from '../../../control/products/transfers/links/linkExpirer.ts'
import { cancelLink, claimLink, createLink } from '../../../control/products/transfers/links/links.ts'
import { GATEWAY } from '../../../control/runtime/activity/activity.ts'
import { withTransaction } from '../../../control/runtime/db/pool.ts'
import { ledgerLimits as limits } from '../../support/limits.ts'
import {
  assertCleanAudit,
  type Book,
  dispatchEvents,
  fundedAccount,
  KINDS_CHECK,
  log,
  scalar,
  startBook,
  until,
} from '../../support/parts/ledger.ts'
import {
  LockMarket,
  MICROS_PER_TOKEN,
  OFFER_NANOS,
  SOLD_MICROS,
  SUPPLY_MICROS,
} from '../../support/parts/lockMarket.ts'
import { present } from '../../support/present.ts'

const LINK_NANOS = 1_000_000_000

let book: Book
let market: LockMarket
before(async () => {
  book = await startBook()
  market = new LockMarket(book)
})
after(() => book.stop())

const coinOf = (accountId: string) =>
  scalar<number>(book.pool, 'SELECT balance FROM ledger_accounts WHERE id = $1', [coinAccount(accountId)])

/** Leaves an account without room for anything. */
async function fill(accountId: string): Promise<void> {
  const nanos = MAX_UNITS - (await coinOf(accountId))
  const credit = { accountId, nanos, units: nanos, ref: newId('evt') }
  await withTransaction(book.pool, (client) => creditCoin(client, credit))
}

const empty = async (accountId: string) => spend(accountId, await coinOf(accountId))

async function spend(accountId: string, nanos: number): Promise<void> {
  await dispatchEvents(book)
  const fee = { id: newId('evt'), accountId, nanos, units: nanos, kind: 'fee', to: { ledgerAccount: REVENUE } } as const
  await market.inUndoable((transaction) => market.debits.move(transaction, fee))
}

/** An account with a row of its own. */
async function owner(): Promise<string> {
  const accountId = await fundedAccount(book, LINK_NANOS)
  await withTransaction(book.pool, (client) => insertAccount(client, accountId, 'a test'))
  return accountId
}

/** A link of this account that is past its time since then, in seconds since 1970. */
async function expiredLink(accountId: string, since: number): Promise<string> {
  const link = { accountId, nanos: LINK_NANOS, units: LINK_NANOS, note: '', expiresAtMs: Date.now() + 60_000 }
  const made = await market.inUndoable((transaction) => createLink(transaction, market.debits, GATEWAY, link))
  await book.pool.query(
    'UPDATE links SET created_at = to_timestamp($2 - 1), expires_at = to_timestamp($2) WHERE id = $1',
    [made.link.id, since],
  )
  return made.link.id
}

test('coin of expired links comes back to the others while an account is too full for its own', async () => {
  const [full, other] = [await owner(), await owner()]
  const stuck = await expiredLink(full, 1_000)
  const behind = await expiredLink(other, 2_000)
  await fill(full)
  const status = (id: string) => scalar<string>(book.pool, 'SELECT status FROM links WHERE id = $1', [id])
  const expirer = linkExpirer({ pool: book.pool, log, limits: { ...limits, linkExpiryMs: 20 } })
  try {
    await until('the other link has expired', async () => (await status(behind)) === 'expired')
    assert.equal(await coinOf(other), LINK_NANOS)
    assert.equal(await status(stuck), 'open')
    await empty(full)
    await until('its link has expired', async () => (await status(stuck)) === 'expired')
    assert.equal(await coinOf(full), LINK_NANOS)
  } finally {
    await expirer.stop()
  }
})

const keeperOf = (changes: Partial<typeof limits> = {}) =>
  seriesKeeper({
    pool: book.pool,
    debits: market.debits,
    log,
    limits: { ...limits, lockSeriesCheckMs: 20, ...changes },
  })

const stateOf = ({ id }: LockSeries) => scalar<string>(book.pool, 'SELECT state FROM lock_series WHERE id = $1', [id])

test('bids come back to the others of a series while one bidder is too full for its own', async () => {
  const series = await market.issue()
  // Orders end account by account, in the order of their ids.
  const [full = '', other = ''] = [
    await fundedAccount(book, OFFER_NANOS),
    await fundedAccount(book, OFFER_NANOS),
  ].sort()
  for (const accountId of [full, other]) {
    await market.trade(series, { accountId, side: 'buy', micros: MICROS_PER_TOKEN, priceNanos: OFFER_NANOS / 2 })
  }
  await fill(full)
  await book.pool.query('UPDATE lock_series SET ends_at_ms = 1 WHERE id = $1', [series.id])
  const keeper = keeperOf()
  try {
    await until('the other bid is back', async () => (await coinOf(other)) === OFFER_NANOS)
    assert.equal(await stateOf(series), 'open')
    await empty(full)
    await until('the series has ended', async () => (await stateOf(series)) !== 'open')
    assert.equal(await coinOf(full), OFFER_NANOS / 2)
  } finally {
    await keeper.stop()
  }
})

test('holders of a broken series are paid back while one of them is too full, however many pages they are', async () => {
  const series = await market.issue()
  const [full = '', other = ''] = [await market.buyer(series), await market.buyer(series)].sort()
  await dispatchEvents(book)
  await fill(full)
  const before = await coinOf(other)
  await book.pool.query(`UPDATE lock_series SET state = 'broken', unavailable = 'a test' WHERE id = $1`, [series.id])
  const keeper = keeperOf({ admissionEventsBatchMax: 1 })
  try {
    await until('the other holder is paid back', async () => (await coinOf(other)) > before)
    await empty(full)
    await until('it is paid back, too', async () => (await coinOf(full)) > 0)
  } finally {
    await keeper.stop()
  }
})

test('buyers pass over what an account sells that is too full for its coin, and fill it once it has room', async () => {
  const series = await market.issue()
  const cheapNanos = OFFER_NANOS / 2
  const [full, buyer] = [await market.buyer(series), await fundedAccount(book, 100 * OFFER_NANOS)]
  const offers: string[] = []
  for (const micros of [MICROS_PER_TOKEN, 2 * MICROS_PER_TOKEN, MICROS_PER_TOKEN]) {
    const sold = { accountId: full, side: 'sell', micros, priceNanos: cheapNanos } as const
    offers.push((await market.trade(series, sold)).order.id)
  }
  await dispatchEvents(book)
  const buy = async (tokens: number, priceNanos = OFFER_NANOS) => {
    const wanted = { accountId: buyer, side: 'buy', micros: tokens * MICROS_PER_TOKEN, priceNanos } as const
    const { order, fills } = await market.trade(series, wanted)
    return { status: order.status, fills: fills.map(({ maker, priceNanos: at, micros }) => [maker.id, at, micros]) }
  }
  const filled = (id: string) => scalar<number>(book.pool, 'SELECT filled_micros FROM lock_orders WHERE id = $1', [id])
  const quoted = async (micros: number) => {
    const quote = await withTransaction(book.pool, (client) => quoteBuy(client, series, buyer, micros, limits))
    return { costNanos: quote.matched.costNanos, fillableMicros: quote.fillableMicros }
  }
  const stockMicros = SUPPLY_MICROS - SOLD_MICROS

  await fill(full)
  assert.deepEqual(await quoted(MICROS_PER_TOKEN), { costNanos: OFFER_NANOS, fillableMicros: stockMicros })
  const served = await buy(1)
  assert.deepEqual([served.status, served.fills.map(([, at]) => at)], ['filled', [OFFER_NANOS]])
  // What would rest is cancelled, since the book must not be crossed.
  await assert.rejects(buy(1, cheapNanos), { row: 'lock_no_offer', message: /cannot be sold now/ })
  const below = await buy(1, cheapNanos - TICK_NANOS)
  assert.equal(below.status, 'open')

  // Room for one of its offers.
  await spend(full, cheapNanos)
  assert.equal((await quoted(MICROS_PER_TOKEN)).costNanos, cheapNanos)
  const first = await buy(3)
  assert.deepEqual(first.fills.map(([id]) => id).slice(0, 1), [offers[0]])
  assert.deepEqual([first.status, first.fills.length], ['filled', 2])
  assert.equal(await coinOf(full), MAX_UNITS)

  await spend(full, 10 * OFFER_NANOS)
  const rest = await buy(3, cheapNanos)
  assert.deepEqual([rest.status, rest.fills.map(([id]) => id)], ['filled', [offers[1], offers[2]]])
  for (const [at, id] of offers.entries()) assert.equal(await filled(id), (at === 1 ? 2 : 1) * MICROS_PER_TOKEN)
})

test('an account that is too full for the coin of its tokens is told so, and keeps them', async () => {
  const series = await market.issue()
  const [full, bidder] = [await market.buyer(series), await fundedAccount(book, 100 * OFFER_NANOS)]
  await market.trade(series, { accountId: bidder, side: 'buy', micros: MICROS_PER_TOKEN, priceNanos: OFFER_NANOS / 2 })
  await dispatchEvents(book)
  await fill(full)
  const sale = { accountId: full, side: 'sell', micros: MICROS_PER_TOKEN, priceNanos: OFFER_NANOS / 2 } as const
  await assert.rejects(market.trade(series, sale), { row: 'invalid_request', message: /more than an account can hold/ })
  await spend(full, OFFER_NANOS)
  assert.equal((await market.trade(series, sale)).order.status, 'filled')
})

/** A registered provider of this account that is paid half of what its model costs. */
async function admission(accountId: string): Promise<ProviderAdmission> {
  const [id, providerId] = [newId('adm'), newId('prov')]
  await book.pool.query(
    `INSERT INTO providers (id, account_id, name, base_url, dialect, data_policy, models)
     VALUES ($1, $2, 'a test', 'http://127.0.0.1:1', 'openai', 'none', '{small}')`,
    [providerId, accountId],
  )
  await book.pool.query(
    `INSERT INTO provider_admissions (id, provider_id, account_id, model, upstream_model, from_id, share_ppm, canary_ppm, full_ppm,
       probation_ms, probation_requests, error_ppm_max, first_output_max_ms, mismatch_ppm_max)
     VALUES ($1, $2, $3, 'acme/chat-small', 'small', '', 500000, 1, 1, 0, 0, 0, 1, 0)`,
    [id, providerId, accountId],
  )
  const [found] = await admissionsOf(book.pool, [providerId])
  return present(found)
}

test('a provider is compared although its account is too full for what it is paid', async () => {
  const accountId = await owner()
  await fill(accountId)
  const compared = await admission(accountId)
  const set = resolveRateSet({ input: 1_000_000_000, output: 1_000_000_000 })
  const asked = { baseUrl: 'http://127.0.0.1:1', dialect: 'openai', apiKey: '' } as const
  const reference = { ...asked, model: 'small', maxTokensField: '', allowPrivate: true }
  const model = { rates: { ...set, longThreshold: 0, long: set }, maxOutput: 100, defaultOutput: 100, reference }
  const body = { choices: [{ message: { content: 'yes' } }], usage: { prompt_tokens: 10, completion_tokens: 5 } }
  const call = async () => ({ status: 200, body: Buffer.from(JSON.stringify(body)), retryAfterSeconds: 0 })
  const endpoint = { ...asked, id: compared.providerId, dataPolicy: 'none' } as const
  await probe({ pool: book.pool, call, allowPrivate: true, limits }, compared, endpoint, model)
  const noted = 'SELECT outcome FROM provider_probes WHERE admission_id = $1'
  assert.equal(await scalar<string>(book.pool, noted, [compared.id]), 'same')
  assert.equal(await coinOf(accountId), MAX_UNITS)
})

const FULL = { code: null, status: 400, message: /^The account that gets this coin cannot hold it/ }

test('a link is not claimed by or given back to an account that is too full, and stays open', async () => {
  const [maker, claimer] = [await owner(), await owner()]
  const link = { accountId: maker, nanos: LINK_NANOS, units: LINK_NANOS, note: '', expiresAtMs: Date.now() + 600_000 }
  const made = await market.inUndoable((transaction) => createLink(transaction, market.debits, GATEWAY, link))
  for (const accountId of [maker, claimer]) await fill(accountId)
  const claim = () => withTransaction(book.pool, (client) => claimLink(client, GATEWAY, made.token, claimer))
  await assert.rejects(claim(), FULL)
  const cancel = () => withTransaction(book.pool, (client) => cancelLink(client, GATEWAY, made.link.id, maker))
  await assert.rejects(cancel(), FULL)
  await empty(claimer)
  assert.equal((await claim()).status, 'claimed')
  assert.equal(await coinOf(claimer), LINK_NANOS)
})

test('coin for an account that is too full stays with its payer', async () => {
  const [payer, full] = [await owner(), await owner()]
  await fill(full)
  await dispatchEvents(book)
  const debit = { accountId: payer, nanos: LINK_NANOS, units: LINK_NANOS, kind: 'agent_pay', to: { accountId: full } }
  const pay = () => market.inUndoable((transaction) => market.debits.move(transaction, { id: newId('evt'), ...debit }))
  await assert.rejects(pay(), FULL)
  assert.deepEqual([await coinOf(payer), await coinOf(full)], [LINK_NANOS, MAX_UNITS])
  await empty(full)
  await pay()
  assert.equal(await coinOf(full), LINK_NANOS)
})

test('the book agrees with Redis and holds every invariant', async () => {
  await dispatchEvents(book)
  // Accounts were filled with coin that nobody paid.
  await assertCleanAudit(book, KINDS_CHECK, 'every transfer has what it was booked for')
})
