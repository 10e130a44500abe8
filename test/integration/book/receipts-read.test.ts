import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { pino } from 'pino'
import { GatewayError } from '../../../contract/errors/errors.ts'
import { sluice } from '../../../contract/wire/generated/messages.js'
import { newId } from '../../../contract/wire/ids.ts'
import { connectRedis, type Redis } from '../../../contract/wire/redis.ts'
import { holdsKey, ledgerStream, OWNERS_KEY, shardOf } from '../../../contract/wire/redisKeys.ts'
import { SettlementConsumer } from '../../../control/book/settlement/consumer.ts'
import { leafHash, verifyInclusion } from '../../../control/book/usagelog/merkle.ts'
import { parseCatalog } from '../../../control/catalog/pricing/catalogFile.ts'
import { publishCatalog } from '../../../control/catalog/pricing/publish.ts'
import { openNewAccount } from '../../../control/identity/accounts/accounts.ts'
import { createKey } from '../../../control/identity/keys/keys.ts'
import { ReceiptReader } from '../../../control/records/receipts/receiptReader.ts'
import { migrate } from '../../../control/runtime/db/migrate.ts'
import { createPool, type Pool } from '../../../control/runtime/db/pool.ts'
import { limits } from '../../support/limits.ts'
import { freshDatabase, startTestRedis, type TestServer } from '../../support/services.ts'
import { until } from '../../support/stack.ts'
import { testCatalog } from '../../support/testCatalog.ts'

let server: TestServer
let redis: Redis
let pool: Pool
let settlement: SettlementConsumer
let reader: ReceiptReader
let accountId: string
let keyIds: string[]

before(async () => {
  server = await startTestRedis()
  redis = connectRedis(server.url, 'wait')
  pool = createPool(await freshDatabase(), limits)
  await migrate(pool)
  await publishCatalog(
    pool,
    parseCatalog('catalog.yaml', testCatalog('http://127.0.0.1:1/v1', { coinUsd: '2' })),
    limits,
  )
  accountId = await openNewAccount(pool, limits, { coinNanos: 1_000_000 })
  keyIds = [(await createKey(pool, accountId)).key.id, (await createKey(pool, accountId)).key.id]
  const log = pino({ enabled: false })
  settlement = new SettlementConsumer({ redisUrl: server.url, pool, log, consumer: 'test', limits })
  reader = new ReceiptReader(pool, redis, limits)
})

after(async () => {
  await settlement.stop()
  redis.disconnect()
  await pool.end()
  await server.stop()
})

/** An ended request as settle.lua appends it. */
async function append(keyId: string, chargeUnits: number, requestId = newId('req')): Promise<string> {
  const settled = sluice.Settlement.encode({
    requestId,
    accountId,
    keyId,
    model: 'test/small',
    endpoint: 'chat',
    provider: 'mock',
    sheetVersion: 1,
    status: sluice.Status.OK,
    holdUnits: 1_000,
    chargeUnits,
    usage: { input: 3, cachedInput: 1, output: 5, reasoning: 2 },
    usageSource: sluice.UsageSource.REPORTED,
    startedAtMs: Date.now(),
    durationMs: 12,
  }).finish()
  const fields = ['e', Buffer.from(settled), 'c', chargeUnits, 't', Date.now(), 's', `coin=${chargeUnits}`]
  await redis.xadd(ledgerStream(shardOf(accountId)), '*', ...fields)
  return requestId
}

async function booked(requestId: string): Promise<void> {
  await until('the receipt is booked', async () => {
    return (await pool.query('SELECT 1 FROM receipts WHERE request_id = $1', [requestId])).rowCount === 1
  })
}

test('a single receipt proves that it is in the usage log', async () => {
  const ids = []
  for (let i = 0; i < 5; i++) ids.push(await append(keyIds[0] ?? '', 100 + i))
  for (const id of ids) await booked(id)
  const receipt = JSON.parse(await reader.single(ids[2] ?? '', keyIds[0] ?? ''))
  assert.deepEqual(receipt.cost, { units: '102', usd: '0.000000102', coin: '0.000000051' })
  assert.deepEqual([receipt.status, receipt.error, receipt.price_sheet], ['ok', null, '1'])
  assert.equal(receipt.usage.total_tokens, 9)
  // A proxy from before they were counted does not report them.
  assert.deepEqual([receipt.first_token_ms, receipt.tries], [null, null])
  const { position, leaf, tree_size, root, proof, entry } = receipt.log
  assert.equal(leafHash(entry).toString('hex'), leaf)
  assert.ok(entry.includes(receipt.request_id))
  const hashes = proof.map((hash: string) => Buffer.from(hash, 'hex'))
  const [leafBytes, rootBytes] = [Buffer.from(leaf, 'hex'), Buffer.from(root, 'hex')]
  assert.ok(verifyInclusion(leafBytes, position, tree_size, hashes, rootBytes))
  assert.ok(!verifyInclusion(leafBytes, position + 1, tree_size, hashes, rootBytes))
})

test('the public read needs no key, another key is rejected', async () => {
  const id = await append(keyIds[0] ?? '', 7)
  await booked(id)
  assert.equal(JSON.parse(await reader.single(id, '')).request_id, id)
  await assert.rejects(reader.single(id, keyIds[1] ?? ''), { code: 'permission_denied', status: 403 })
})

test('malformed ids and unknown ids are rejected as such', async () => {
  // What was waited for is refused in other words.
  const unknown = { code: 'receipt_not_found', message: new GatewayError('receipt_not_found').message, status: 404 }
  await assert.rejects(reader.single("req_' OR 1=1", ''), unknown)
  await assert.rejects(reader.single(newId('req'), keyIds[0] ?? ''), unknown)
  await assert.rejects(reader.single(newId('req', Date.now() - 86_400_000), ''), unknown)
})

test('a lookup waits for a receipt that is on its way, and gives up after a timeout', async () => {
  const requestId = newId('req')
  await redis.zadd(OWNERS_KEY, Date.now(), 'own_test')
  await redis.hset(holdsKey(shardOf(accountId), 'own_test'), requestId, '1|1|a|k|1|1|1|1||m')
  const patient = new ReceiptReader(pool, redis, { ...limits, receiptWaitMs: 15_000 })
  const waiting = patient.single(requestId, keyIds[0] ?? '')
  await append(keyIds[0] ?? '', 9, requestId)
  assert.equal(JSON.parse(await waiting).cost.units, '9')
  const open = newId('req')
  await redis.hset(holdsKey(shardOf(accountId), 'own_test'), open, '1|1|a|k|1|1|1|1||m')
  await assert.rejects(reader.single(open, keyIds[0] ?? ''), { code: 'receipt_not_found', message: /not ended/ })
})

test('a receipt booked while this process was paused for longer than its timeout is found', async () => {
  const requestId = newId('req')
  await redis.hset(holdsKey(shardOf(accountId), 'own_test'), requestId, '1|1|a|k|1|1|1|1||m')
  let looks = 0
  const query = async (...args: Parameters<Pool['query']>) => {
    const found = await pool.query(...args)
    const isLook = (args[0] as { name?: string }).name === 'receipt_row'
    // The first look decides that it is waited for, the second is the first of those that wait.
    if (isLook && ++looks === 2) {
      await append(keyIds[0] ?? '', 11, requestId)
      await booked(requestId)
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, limits.receiptWaitMs + 100)
    }
    return found
  }
  const receipt = await new ReceiptReader({ query } as Pool, redis, limits).single(requestId, keyIds[0] ?? '')
  assert.equal(JSON.parse(receipt).cost.units, '11')
})

test('lists are newest first, paginated, for a key or for the account', async () => {
  const before = JSON.parse(await reader.list({ accountId, keyId: '', limit: 100, after: '' })).data.length
  const ids: string[] = []
  for (let i = 0; i < 6; i++) {
    ids.push(await append(keyIds[i % 2] ?? '', 1, newId('req', Date.now() + i)))
  }
  for (const id of ids) await booked(id)
  const idsOf = (page: { data: Array<{ request_id: string }> }) => page.data.map((receipt) => receipt.request_id)
  const all = JSON.parse(await reader.list({ accountId, keyId: '', limit: 6, after: '' }))
  assert.deepEqual(idsOf(all), [...ids].reverse())
  assert.equal(all.has_more, before > 0)
  const next = JSON.parse(await reader.list({ accountId, keyId: '', limit: 2, after: ids[4] ?? '' }))
  assert.deepEqual(idsOf(next), [ids[3], ids[2]])
  const second = JSON.parse(await reader.list({ accountId, keyId: keyIds[1] ?? '', limit: 0, after: '' }))
  assert.deepEqual(idsOf(second), [ids[5], ids[3], ids[1]])
  assert.equal(second.has_more, false)
  assert.deepEqual(Object.keys(second.data[0].log), ['number', 'position'])
  const none = JSON.parse(await reader.list({ accountId: 'acct_none', keyId: '', limit: 1_000_000, after: '' }))
  assert.deepEqual(none, { object: 'list', data: [], has_more: false })
})
