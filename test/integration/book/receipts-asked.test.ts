// Goal: a receipt can be read as soon as it was shown, although the book and Redis do not know of it yet.
// Method: the receipt reader over real stores, and proxy processes played by a subscriber that answers as they do.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { pino } from 'pino'
import { GatewayError } from '../../../contract/errors/errors.ts'
import { newId } from '../../../contract/wire/ids.ts'
import { connectRedis, type Redis } from '../../../contract/wire/redis.ts'
import { ASK_CHANNEL, askedKey, deniedKey, OWNERS_KEY } from '../../../contract/wire/redisKeys.ts'
import { SettlementConsumer } from '../../../control/book/settlement/consumer.ts'
import { parseCatalog } from '../../../control/catalog/pricing/catalogFile.ts'
import { publishCatalog } from '../../../control/catalog/pricing/publish.ts'
import { openNewAccount } from '../../../control/identity/accounts/accounts.ts'
import { createKey } from '../../../control/identity/keys/keys.ts'
import { ReceiptReader } from '../../../control/records/receipts/receiptReader.ts'
import { limitsWith } from '../../support/limits.ts'
import { appendEndings, endedOf } from '../../support/parts/endings.ts'
import { type Book, startBook, until } from '../../support/parts/ledger.ts'
import { testCatalog } from '../../support/testCatalog.ts'

/** By so much a timer may fire early. */
const TIMER_MS = 2
const limits = limitsWith({ settlementBlockMs: 100, receiptWaitMs: 60_000 })
/** For ids that a proxy answers for: it is this process, which may stand still for longer than proxies are given. */
const patience = { ...limits, receiptAskMs: 60_000 }

let book: Book
let subscriber: Redis
let settlement: SettlementConsumer
let reader: ReceiptReader
let patient: ReceiptReader
let accountId: string
let keyId: string
/** What the proxies do about an id that is asked for. */
let answer: (requestId: string) => unknown = () => {}
const asked: string[] = []

before(async () => {
  book = await startBook()
  const { pool, redis, redisServer } = book
  await publishCatalog(pool, parseCatalog('catalog.yaml', testCatalog('http://127.0.0.1:1/v1')), limits)
  accountId = await openNewAccount(pool, limits, { coinNanos: 1_000_000 })
  keyId = (await createKey(pool, accountId)).key.id
  const log = pino({ enabled: false })
  settlement = new SettlementConsumer({ redisUrl: redisServer.url, pool, log, consumer: 'test', limits })
  reader = new ReceiptReader(pool, redis, limits)
  patient = new ReceiptReader(pool, redis, patience)
  subscriber = connectRedis(redisServer.url, 'wait')
  subscriber.on('message', (_channel: string, requestId: string) => {
    asked.push(requestId)
    answer(requestId)
  })
  await subscriber.subscribe(ASK_CHANNEL)
})

after(async () => {
  subscriber.disconnect()
  await settlement.stop()
  await book.stop()
})

const ended = (requestId: string) => endedOf({ accountId, charge: 7, requestId, settlement: { keyId } })
const deliver = (requestId: string) => appendEndings(book.redis, accountId, newId('own'), 1, [ended(requestId)])
const tell = (requestId: string, state: 'open' | 'ended') => book.redis.set(askedKey(requestId), state, 'PX', 60_000)
/** It waits for the whole time, which the booking has to fit into. */
const waiting = () => new ReceiptReader(book.pool, book.redis, { ...limits, receiptAskMs: 6_000 })
const unknown = { code: 'receipt_not_found', message: new GatewayError('receipt_not_found').message }

test('a proxy that has shown a receipt delivers it on request, with the key and without', async () => {
  answer = (requestId) => Promise.all([tell(requestId, 'ended'), deliver(requestId)])
  for (const asker of [keyId, '']) {
    const receipt = JSON.parse(await patient.single(newId('req'), asker))
    assert.equal(receipt.cost.units, '7')
  }
})

test('a running request is reported as not ended', async () => {
  answer = (requestId) => tell(requestId, 'open')
  const hasty = new ReceiptReader(book.pool, book.redis, { ...patience, receiptWaitMs: 100 })
  for (const asker of [keyId, '']) {
    await assert.rejects(hasty.single(newId('req'), asker), { code: 'receipt_not_found', message: /not ended/ })
  }
})

test('receipts booked while no proxy answers are found', async () => {
  answer = deliver
  assert.equal(JSON.parse(await waiting().single(newId('req'), keyId)).cost.units, '7')
})

test('an id that every proxy denies is waited for by no key, and by readers without one for the whole time', async (t) => {
  t.after(() => book.redis.del(OWNERS_KEY))
  await book.redis.zadd(OWNERS_KEY, Date.now(), 'own_a', Date.now(), 'own_b')
  const deny = (requestId: string, owner: string) => book.redis.set(deniedKey(requestId, owner), '', 'PX', 60_000)
  answer = (requestId) => Promise.all(['own_a', 'own_b'].map((owner) => deny(requestId, owner)))
  await assert.rejects(patient.single(newId('req'), keyId), unknown)
  assert.equal(await patient.booked(newId('req'), accountId, ''), undefined)

  const lasted = async (asker: string) => {
    const startedMs = performance.now()
    await assert.rejects(reader.single(newId('req'), asker), unknown)
    return performance.now() - startedMs
  }
  assert.ok((await lasted('')) >= limits.receiptAskMs - TIMER_MS)
  answer = (requestId) => deny(requestId, 'own_a')
  assert.ok((await lasted(keyId)) >= limits.receiptAskMs - TIMER_MS, 'one of two denied it')
  answer = (requestId) => Promise.all([deny(requestId, 'own_a'), tell(requestId, 'ended'), deliver(requestId)])
  assert.equal(JSON.parse(await patient.single(newId('req'), keyId)).cost.units, '7')
})

test('proxies that listen and are not yet noted are waited for', async (t) => {
  t.after(() => book.redis.del(OWNERS_KEY))
  await book.redis.zadd(OWNERS_KEY, Date.now(), 'own_a')
  const second = connectRedis(book.redisServer.url, 'wait')
  t.after(() => second.disconnect())
  await second.subscribe(ASK_CHANNEL)
  answer = async (requestId) => {
    await book.redis.set(deniedKey(requestId, 'own_a'), '', 'PX', 60_000)
    await deliver(requestId)
  }
  assert.equal(JSON.parse(await waiting().single(newId('req'), keyId)).cost.units, '7')
})

test('proxies are not asked for ids too old to be open, or for an empty list', async () => {
  answer = () => {}
  asked.length = 0
  const old = Date.now() - limits.holdAgeMaxMs - 1_000
  await assert.rejects(reader.single(newId('req', old), keyId), unknown)
  await assert.rejects(reader.single(newId('req', old), ''), unknown)
  await assert.rejects(reader.single('req_1', keyId), unknown)
  const fresh = newId('req')
  await assert.rejects(reader.single(fresh, keyId), unknown)
  await until('the fresh one is asked for', async () => asked.length > 0)
  assert.deepEqual(asked, [fresh])
})

test('concurrent lookups of unknown ids are bounded, and those of one key leave room for others', async () => {
  const askedAtOnce = async (asker: string, count: number) => {
    const [open, over] = [new Set<string>(), new Set<string>()]
    let most = 0
    answer = (requestId) => {
      if (!over.has(requestId)) open.add(requestId)
      most = Math.max(most, open.size)
    }
    const read = async () => {
      const requestId = newId('req')
      const error = await reader.single(requestId, asker).catch((thrown: unknown) => thrown)
      assert.ok(error instanceof GatewayError && error.code === 'receipt_not_found')
      over.add(requestId)
      open.delete(requestId)
    }
    await Promise.all(Array.from({ length: count }, read))
    return most
  }
  assert.equal(await askedAtOnce('', 30), limits.receiptPublicAsksMax)
  assert.equal(await askedAtOnce(keyId, 30), (limits.rpcConcurrencyMax / 4) * 0.75)
})
