// Goal: known keys work on without control, and unknown ones cost nothing that known ones need. Method: the cache over a
// control that the test answers for.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { GatewayError } from '../../../contract/errors/errors.ts'
import { sluice } from '../../../contract/wire/generated/messages.js'
import { hashSecret, newSecret } from '../../../contract/wire/ids.ts'
import { refusalOf } from '../../../contract/wire/refusal.ts'
import { KeyCache } from '../../../proxy/access/keyCache.ts'
import { KeyRecords } from '../../../proxy/access/keyRecords.ts'
import { ControlUnavailable, type RpcClient, readReply } from '../../../proxy/bus/rpcClient.ts'
import { limits } from '../../support/limits.ts'

/** Calls go out at the end of a turn. */
const nextTurn = () => new Promise<void>((resolve) => setImmediate(() => setImmediate(resolve)))

const NONE_KEPT = { read: async () => ({ records: new Map(), claim: '' }) }

class Control {
  readonly known = new Map<string, string>()
  asked = 0
  down = false
  isFeedFollowed = false
  /** What it answers in place of a record. */
  garbled: Uint8Array | undefined
  /** What it answers in place of each record. */
  garbledRecord: Uint8Array | undefined

  readonly call = (async (_operation: string, { keyHashes }: sluice.ResolveKeysRequest) => {
    this.asked++
    if (this.down) {
      await nextTurn()
      throw new ControlUnavailable('resolve_keys')
    }
    if (this.garbled !== undefined) return readReply('resolve_keys', this.garbled)
    return sluice.ResolveKeysReply.create({ keys: keyHashes.map((hash) => this.answerTo(hash)) })
  }) as RpcClient['call']

  private answerTo(keyHash: string): sluice.ResolvedKey.$Properties {
    if (this.garbledRecord !== undefined) return { record: this.garbledRecord }
    const keyId = this.known.get(keyHash)
    if (keyId === undefined) return { refusal: refusalOf(new GatewayError('invalid_api_key')) }
    const record = { keyId, accountId: 'acct_test', privacyKnown: true, settingsKnown: true }
    return { record: sluice.KeyRecord.encode(record).finish() }
  }

  addKey(): string {
    const secret = newSecret('sk')
    this.known.set(hashSecret(secret), `key_${this.known.size}`)
    return secret
  }
}

function start(overrides: Partial<typeof limits> = {}): { control: Control; cache: KeyCache } {
  const control = new Control()
  const changed = { ...limits, ...overrides }
  const records = new KeyRecords({
    rpc: control,
    kept: NONE_KEPT,
    schedule: setImmediate,
    counts: { redis: 0, control: 0 },
    limits: changed,
  })
  return { control, cache: new KeyCache(records, () => control.isFeedFollowed, changed) }
}

test('while the feed is broken, an entry past its time is served immediately, and read again in the background at a bounded rate', async () => {
  const { control, cache } = start()
  const secret = control.addKey()
  await cache.find(secret, Date.now())
  control.down = true
  const laterMs = Date.now() + limits.keyCacheTtlMs + 1
  for (let i = 0; i < 100; i++) assert.ok(!(cache.find(secret, laterMs) instanceof Promise))
  await nextTurn()
  assert.equal(control.asked, 2)
  await nextTurn()
  cache.find(secret, laterMs + limits.keyRefreshRetryMs - 1)
  await nextTurn()
  assert.equal(control.asked, 2, 'not again before its time')
  control.down = false
  cache.find(secret, laterMs + limits.keyRefreshRetryMs)
  await nextTurn()
  assert.equal(control.asked, 3)
  control.known.clear()
  await nextTurn()
  cache.find(secret, Date.now() + limits.keyCacheTtlMs + 1)
  await nextTurn()
  assert.throws(() => cache.find(secret, Date.now()), { code: 'invalid_api_key' })
})

test('while the feed is followed, an entry is not read again, however long it is used', async () => {
  const { control, cache } = start()
  control.isFeedFollowed = true
  const secret = control.addKey()
  await cache.find(secret, Date.now())
  for (let hours = 1; hours <= 100; hours++) cache.find(secret, Date.now() + hours * 3_600_000)
  await nextTurn()
  assert.equal(control.asked, 1)
  cache.drop(hashSecret(secret))
  await cache.find(secret, Date.now())
  assert.equal(control.asked, 2)
})

test('a key that is not cached needs control', async () => {
  const { control, cache } = start()
  control.down = true
  await assert.rejects(async () => cache.find(newSecret('sk'), Date.now()), { code: 'policy_unavailable' })
})

test('any number of unknown keys evicts no known one, and malformed keys are not looked up', async () => {
  const { control, cache } = start({ keyCacheEntriesMax: 10, unknownKeysMax: 10 })
  const secret = control.addKey()
  await cache.find(secret, Date.now())
  for (let i = 0; i < 30; i++) {
    await assert.rejects(async () => cache.find(newSecret('sk'), Date.now()), { code: 'invalid_api_key' })
  }
  assert.equal(control.asked, 31)
  assert.ok(!(cache.find(secret, Date.now()) instanceof Promise))
  for (const odd of ['sk_', `sk_${'z'.repeat(42)}`, `sk_${'z'.repeat(44)}`, `sk_${'z'.repeat(42)}-`, 'x'.repeat(46)]) {
    assert.throws(() => cache.find(odd, Date.now()), { code: 'invalid_api_key' })
  }
  assert.equal(control.asked, 31)
})

test('the least recently used key is evicted', async () => {
  const { control, cache } = start({ keyCacheEntriesMax: 2 })
  const [used, unused, added] = [control.addKey(), control.addKey(), control.addKey()]
  for (const secret of [used, unused]) await cache.find(secret, Date.now())
  cache.find(used, Date.now() + limits.keyCacheTtlMs + 1)
  await nextTurn()
  await cache.find(added, Date.now())
  assert.ok(!(cache.find(used, Date.now()) instanceof Promise))
  assert.ok(cache.find(unused, Date.now()) instanceof Promise)
})

test('of keys that are never read again, the one unused for longest is evicted', async () => {
  const { control, cache } = start({ keyCacheEntriesMax: 2 })
  control.isFeedFollowed = true
  const [used, unused, added] = [control.addKey(), control.addKey(), control.addKey()]
  for (const secret of [used, unused]) await cache.find(secret, Date.now())
  cache.find(used, Date.now() + limits.keyCacheTtlMs + 1)
  await cache.find(added, Date.now())
  assert.ok(!(cache.find(used, Date.now()) instanceof Promise))
  assert.ok(cache.find(unused, Date.now()) instanceof Promise)
  assert.equal(control.asked, 3)
})

test('an unreadable record, or one without privacy flags, serves no request and is fetched again', async () => {
  const { control, cache } = start()
  const secret = control.addKey()
  const refused = async (): Promise<void> => {
    const status = { code: 'key_privacy_unavailable', status: 503, retryAfterSeconds: 1 }
    await assert.rejects(Promise.resolve(cache.find(secret, Date.now())), status)
  }
  control.garbled = Buffer.from([0x0a, 0xff])
  await refused()
  control.garbled = undefined
  for (const garbled of [
    Buffer.from([0x0a, 0xff]),
    Buffer.from('no record'),
    Buffer.alloc(0),
    sluice.KeyRecord.encode({ keyId: 'key_0', accountId: 'acct_test', settingsKnown: true }).finish(),
  ]) {
    control.garbledRecord = garbled
    await refused()
  }
  control.garbledRecord = undefined
  assert.equal((await cache.find(secret, Date.now())).keyId, 'key_0')
  assert.equal(control.asked, 6)
})
