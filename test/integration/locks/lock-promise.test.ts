// Goal: a series of which customers have tokens is a promise: check, publication and start refuse a catalog that cannot serve it;
// what cannot be served is not sold; a series that is broken by force, or not served to its end, pays its holders back, exactly
// once and by their shares, whatever requests hold of it and wherever its tokens are.
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { newId } from '../../../contract/wire/ids.ts'
import { Debits } from '../../../control/admission/debits/debit.ts'
import { coinAccount, lockUnearnedAccount } from '../../../control/book/ledger/accounts.ts'
import { parseCatalog } from '../../../control/catalog/pricing/catalogFile.ts'
import { CatalogKeeper } from '../../../control/catalog/pricing/catalogKeeper.ts'
import { publishCatalog, refuseBrokenPromises } from '../../../control/catalog/pricing/publish.ts'
import { disableRoute, enableRoute } from '../../../control/catalog/pricing/routeSwitches.ts'
import { quoteBuy } from '../../../control/products/locks/quotes.ts'
import { type LockSeries, lockTradedSeries, seriesById, tradedSeries } from '../../../control/products/locks/series.ts'
import { seriesKeeper } from '../../../control/products/locks/seriesKeeper.ts'
import { GATEWAY_WIDE, listActivity, OPERATOR } from '../../../control/runtime/activity/activity.ts'
import { withTransaction } from '../../../control/runtime/db/pool.ts'
import { ledgerLimits as limits } from '../../support/limits.ts'
import {
  assertCleanAudit,
  type Book,
  dispatchEvents,
  ensureOpen,
  fundedAccount,
  log,
  scalar,
  startBook,
  until,
} from '../../support/parts/ledger.ts'
import { burnt, LockMarket, MICRO_UNITS, MICROS_PER_TOKEN, OFFER_NANOS } from '../../support/parts/lockMarket.ts'
import { present } from '../../support/present.ts'
import { makeTempDir, removeTempDir } from '../../support/tempDir.ts'
import { type TestModel, testCatalog } from '../../support/testCatalog.ts'

const SOLD = { id: 'acme/chat-small', routes: [{ provider: 'acme', model: 'small' }] }
const OTHER = { id: 'acme/other', routes: [{ provider: 'other', model: 'other' }] }
const PROMISE =
  /catalog\.yaml:\d+: acme\/chat-small: .*compute lock lock_\w+ \(2099-01\) promises until 2099-02-01T.*--break-series/

let book: Book
let market: LockMarket
before(async () => {
  book = await startBook()
  market = new LockMarket(book)
  await ensureOpen(book)
})
after(() => book.stop())

const catalogOf = (...models: TestModel[]) =>
  parseCatalog(
    'catalog.yaml',
    testCatalog('http://127.0.0.1:1/v1', { models, providers: [{ id: 'acme' }, { id: 'other' }] }),
  )
const publish = (breakSeriesReason: string | undefined, ...models: TestModel[]) =>
  publishCatalog(book.pool, catalogOf(...models), limits, Date.now(), { breakSeriesReason })
const shown = async ({ id }: LockSeries) => present(await seriesById(book.pool, id))
const coinOf = async (accountId: string) =>
  scalar<number>(book.pool, 'SELECT balance FROM ledger_accounts WHERE id = $1', [coinAccount(accountId)])

/** Starts and stops the keeper of the catalog with a file of these models, as control does. */
async function startWith(...models: TestModel[]): Promise<void> {
  const dir = makeTempDir('catalog')
  const path = join(dir, 'catalog.yaml')
  const options = { models, providers: [{ id: 'acme' }, { id: 'other' }] }
  writeFileSync(path, testCatalog('http://127.0.0.1:1/v1', options))
  const keeper = new CatalogKeeper({ path, pool: book.pool, redis: book.redis, log, limits })
  await keeper.start()
  await keeper.stop()
  removeTempDir(dir)
}

/** Has Redis loaded from the book. */
async function reloadRedis(): Promise<void> {
  await book.redis.flushall()
  await ensureOpen(book)
}

/** Runs the keeper until a series is in a state and its customers hold nothing. */
async function keptUntil(series: LockSeries, state: LockSeries['state'], held = 0): Promise<void> {
  const debits = new Debits(book.pool, book.redis, limits)
  const keeper = seriesKeeper({ pool: book.pool, debits, log, limits: { ...limits, lockSeriesCheckMs: 20 } })
  const left = `SELECT count(*) FROM lock_holdings h JOIN ledger_accounts l
    ON l.id = 'lock:' || h.series_id || ':' || h.account_id WHERE h.series_id = $1 AND l.balance > 0`
  const isDone = async () => {
    await dispatchEvents(book)
    return (await shown(series)).state === state && (await scalar<number>(book.pool, left, [series.id])) === held
  }
  await until(`the series is ${state}`, isDone).finally(() => keeper.stop())
  await dispatchEvents(book)
}

test('a catalog that cannot serve a series with customers is refused by check and publication, however it fails to', async () => {
  await publish(undefined, SOLD, OTHER)
  const series = await market.issue()
  await publish(undefined, OTHER)
  assert.match(
    (await shown(series)).unavailable,
    /the catalog has no model/,
    'nobody has tokens yet, so it is no promise',
  )
  await publish(undefined, SOLD, OTHER)
  assert.equal((await shown(series)).unavailable, '')
  await market.buyer(series)
  const broken: TestModel[][] = [
    [OTHER],
    [OTHER, { ...SOLD, routes: [{ provider: 'other', model: 'small' }] }],
    [OTHER, { ...SOLD, routes: [{ provider: 'acme', model: 'small', enabled: false }, ...OTHER.routes] }],
    [OTHER, { ...SOLD, verified: false }],
    [
      OTHER,
      { ...SOLD, modality: 'embedding', endpoints: ['embeddings'], max_output: undefined, price: { input: '1' } },
    ],
  ]
  const before = await scalar(book.pool, 'SELECT max(id) FROM catalog_records')
  for (const models of broken) {
    await assert.rejects(refuseBrokenPromises(book.pool, catalogOf(...models)), PROMISE)
    await assert.rejects(publish(undefined, ...models), PROMISE)
  }
  await startWith(OTHER)
  assert.equal(await scalar(book.pool, 'SELECT max(id) FROM catalog_records'), before, 'a start published it')
  assert.equal((await shown(series)).state, 'open')
  await publish('the end of this test', OTHER)
})

test('a series that cannot be served is neither quoted nor traded, and its orders can be cancelled', async () => {
  await publish(undefined, SOLD, OTHER)
  const series = await market.issue()
  await market.buyer(series)
  const inClient = <T>(work: Parameters<typeof withTransaction<T>>[1]) => withTransaction(book.pool, work)
  await inClient((client) => disableRoute(client, OPERATOR, 'acme/small', 'it is slow', limits))
  const refusal = {
    row: 'lock_series_unavailable',
    message: /no route of acme\/chat-small that is enabled goes to acme/,
  }
  await assert.rejects(tradedSeries(book.pool, series.id), refusal)
  await assert.rejects(
    inClient((client) => lockTradedSeries(client, series.id)),
    refusal,
  )
  await inClient((client) => enableRoute(client, OPERATOR, 'acme/small', limits))
  const again = await tradedSeries(book.pool, series.id)
  await inClient((client) => quoteBuy(client, again, newId('acct'), MICROS_PER_TOKEN, limits))
})

test('a series that is broken with a reason ends immediately and pays its holders back by their shares', async () => {
  await publish(undefined, SOLD, OTHER)
  const series = await market.issue()
  const [one, two] = [await market.buyer(series), await market.buyer(series)]
  await dispatchEvents(book)
  await market.trade(series, {
    accountId: one,
    side: 'sell',
    micros: 4 * MICROS_PER_TOKEN,
    priceNanos: 2 * OFFER_NANOS,
  })
  const bidder = await fundedAccount(book, OFFER_NANOS)
  const low = OFFER_NANOS / 2
  await market.trade(series, { accountId: bidder, side: 'buy', micros: MICROS_PER_TOKEN, priceNanos: low })
  await market.settle(burnt(series, two, 5_000_000 * MICRO_UNITS))
  await reloadRedis()
  const [beforeOne, beforeTwo] = [await coinOf(one), await coinOf(two)]

  await publish('the provider is gone', OTHER)
  assert.equal((await shown(series)).state, 'broken')
  const entries = await listActivity(book.pool, GATEWAY_WIDE, 10, '')
  const entry = entries.find(({ type, target }) => type === 'lock.broken' && target === series.id)
  assert.deepEqual(entry?.actor, { type: 'operator', id: null })
  assert.deepEqual(entry?.details, {
    model: 'acme/chat-small',
    provider: 'acme',
    fault: 'the catalog has no model acme/chat-small',
    reason: 'the provider is gone',
  })
  await assert.rejects(
    withTransaction(book.pool, (client) => lockTradedSeries(client, series.id)),
    { row: 'lock_series_unavailable', message: /paid back/ },
  )
  await keptUntil(series, 'broken')
  assert.equal((await coinOf(one)) - beforeOne, 10 * OFFER_NANOS)
  assert.equal((await coinOf(two)) - beforeTwo, 5 * OFFER_NANOS)
  assert.equal(await coinOf(bidder), OFFER_NANOS)
  const unearned = 'SELECT balance FROM ledger_accounts WHERE id = $1'
  assert.equal(await scalar<number>(book.pool, unearned, [lockUnearnedAccount(series.id)]), 0)
  await publish(undefined, SOLD, OTHER)
  assert.equal((await shown(series)).state, 'broken', 'what is broken stays broken')
  await assertCleanAudit(book)
})

test('a series that is not served when its month ends pays back, and closes', async () => {
  await publish(undefined, SOLD, OTHER)
  const series = await market.issue()
  const holder = await market.buyer(series)
  await dispatchEvents(book)
  await market.trade(series, {
    accountId: holder,
    side: 'sell',
    micros: 4 * MICROS_PER_TOKEN,
    priceNanos: 2 * OFFER_NANOS,
  })
  const before = await coinOf(holder)
  await withTransaction(book.pool, (client) => disableRoute(client, OPERATOR, 'acme/*', 'an outage', limits))
  await book.pool.query('UPDATE lock_series SET ends_at_ms = extract(epoch FROM now()) * 1000 - 1 WHERE id = $1', [
    series.id,
  ])
  // Redis has the end of the month in its list of pots.
  await reloadRedis()
  await keptUntil(series, 'ended')
  assert.equal((await coinOf(holder)) - before, 10 * OFFER_NANOS)
  await withTransaction(book.pool, (client) => enableRoute(client, OPERATOR, 'acme/*', limits))
  await assertCleanAudit(book)
})
