// Goal: a flood of refusals is bounded by account, in memory and in Redis, and what is dropped is counted; without Redis nothing but
// records is lost.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { GatewayError } from '../../../contract/errors/errors.ts'
import { sluice } from '../../../contract/wire/generated/messages.js'
import { newId } from '../../../contract/wire/ids.ts'
import { connectRedis, type Redis } from '../../../contract/wire/redis.ts'
import { refusalsKey, UNKNOWN_REFUSALS_KEY } from '../../../contract/wire/redisKeys.ts'
import { toPrincipal } from '../../../proxy/access/principal.ts'
import { readLimits } from '../../../proxy/limits.ts'
import { RefusalRecords, type RefusalRecordsOptions } from '../../../proxy/refusals/refusalRecords.ts'
import { startTestRedis, type TestServer } from '../../support/services.ts'
import { until } from '../../support/until.ts'

const LIMITS = readLimits(undefined)
const SHARD = 5
const AUTHORIZATION = `Bearer sk_${'b'.repeat(43)}`

let server: TestServer
let redis: Redis

before(async () => {
  server = await startTestRedis()
  redis = connectRedis(server.url, { failAfterMs: 10_000 })
  redis.on('error', () => {})
  await until('the connection is up', () => redis.status === 'ready')
})
after(async () => {
  redis.disconnect()
  await server.stop()
})

function newPrincipal() {
  const known = { privacyKnown: true, settingsKnown: true, shard: SHARD }
  const record = sluice.KeyRecord.create({ ...known, keyId: newId('key'), accountId: newId('acct') })
  return toPrincipal(record, LIMITS)
}

const newRecords = (
  limits: object,
  isKnown = true,
  onFault: (error: unknown) => void = (error) => assert.fail(String(error)),
) => {
  const counts = { written: 0, dropped: 0, failed: 0 }
  const principal = isKnown ? newPrincipal() : undefined
  const keys: RefusalRecordsOptions['keys'] = { peek: () => principal }
  return { counts, records: new RefusalRecords({ redis, keys, limits: { ...LIMITS, ...limits }, counts, onFault }) }
}

function note(records: RefusalRecords, nowMs = 0, authorization = AUTHORIZATION): void {
  const head = { authorization, apiKey: '' } as Parameters<RefusalRecords['note']>[1]['head']
  const exchange = { id: newId('req'), head, route: '/v1/chat/completions', figures: undefined }
  records.note(new GatewayError('insufficient_balance'), exchange, nowMs)
}

/** What becomes of refusals that all come at once. */
async function flood(limits: object, times: number, nowMs = (_: number) => 0, isKnown = true) {
  const { records, counts } = newRecords(limits, isKnown)
  for (let i = 0; i < times; i++) note(records, nowMs(i))
  await records.stop()
  return counts
}

const FLOODS: [name: string, limits: object, times: number, written: number, nowMs?: (i: number) => number][] = [
  ['of one account', { refusalRecordsPerMinute: 3 }, 1_000, 3],
  ['over two minutes', { refusalRecordsPerMinute: 3 }, 10, 6, (i) => (i < 5 ? 0 : 60_000)],
  ['that is faster than it is written', { refusalRecordsWaitingMax: 7, refusalRecordsPerMinute: 1_000 }, 1_000, 7],
  ['beyond the accounts that are counted', { refusalRecordsCountedMax: 0 }, 10, 0],
]
for (const [name, limits, times, written, nowMs] of FLOODS) {
  test(`a flood ${name} is dropped beyond its bound, and counted`, async () => {
    assert.deepEqual(await flood(limits, times, nowMs), { written, dropped: times - written, failed: 0 })
  })
}

for (const isKnown of [true, false]) {
  test(`Redis keeps a bounded number for a bounded time: ${isKnown ? 'of a shard' : 'of unknown keys'}`, async () => {
    const limits = { refusalRecordsMax: 5, refusalRecordsPerMinute: 100, refusalRecordsKeptMs: 60_000 }
    const counts = await flood(limits, 50, undefined, isKnown)
    const key = isKnown ? refusalsKey(SHARD) : UNKNOWN_REFUSALS_KEY
    const [kept, ttlMs] = await Promise.all([redis.xlen(key), redis.pttl(key)])
    assert.deepEqual([counts.written, kept], [50, 5])
    assert.ok(ttlMs > 0 && ttlMs <= 60_000, `${ttlMs}`)
  })
}

test('a request without a key is not kept', async () => {
  const { records, counts } = newRecords({})
  for (const authorization of ['', 'Bearer ses_1', 'Basic x']) note(records, 0, authorization)
  await records.stop()
  assert.deepEqual(counts, { written: 0, dropped: 0, failed: 0 })
})

test('without Redis the records are lost and counted, and later ones are kept', async () => {
  const faults: unknown[] = []
  const { records, counts } = newRecords({}, true, (error) => faults.push(error))
  redis.disconnect()
  await until('the connection is down', () => redis.status === 'end')
  note(records)
  await records.stop()
  assert.deepEqual([counts, faults.length], [{ written: 0, dropped: 0, failed: 1 }, 1])
  redis = connectRedis(server.url, { failAfterMs: 10_000 })
  await until('the connection is up', () => redis.status === 'ready')
  assert.equal((await flood({}, 1)).written, 1)
})
