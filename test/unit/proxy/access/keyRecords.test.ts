import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sluice } from '../../../../contract/wire/generated/messages.js'
import { KeyRecords } from '../../../../proxy/access/keyRecords.ts'
import type { RpcClient } from '../../../../proxy/bus/rpcClient.ts'
import { limits } from '../../../support/limits.ts'

const NONE_KEPT = { read: async () => ({ records: new Map(), claim: '' }) }

function start(answer: (keyHashes: readonly string[]) => sluice.ResolveKeysReply.$Properties) {
  const calls: string[][] = []
  const rpc = {
    call: (async (_operation: string, { keyHashes }: sluice.ResolveKeysRequest) => {
      calls.push(keyHashes)
      return sluice.ResolveKeysReply.create(answer(keyHashes))
    }) as RpcClient['call'],
  }
  const records = (changes: Partial<typeof limits>) =>
    new KeyRecords({
      rpc,
      kept: NONE_KEPT,
      schedule: setImmediate,
      counts: { redis: 0, control: 0 },
      limits: { ...limits, ...changes },
    })
  return { calls, records }
}

const known = (keyHashes: readonly string[]): sluice.ResolveKeysReply.$Properties => ({
  keys: keyHashes.map((hash) => ({ record: sluice.KeyRecord.encode({ keyId: `key of ${hash}` }).finish() })),
})

test('records wanted in one turn travel in calls of a bounded size', async () => {
  const { calls, records } = start(known)
  const source = records({ keysPerCallMax: 2 })
  const found = await Promise.all(['a', 'b', 'c'].map((hash) => source.find(hash)))
  assert.deepEqual(
    found.map((record) => record?.keyId),
    ['key of a', 'key of b', 'key of c'],
  )
  assert.equal((await source.find('d'))?.keyId, 'key of d')
  assert.deepEqual(calls, [['a', 'b'], ['c'], ['d']])
})

test('beyond its bound no record is waited for, and afterwards there is room again', async () => {
  const { calls, records } = start(known)
  const source = records({ keyLookupsMax: 2 })
  const waiting = [source.find('a'), source.find('b')]
  await assert.rejects(source.find('c'), { code: 'policy_unavailable', retryAfterSeconds: 1 })
  await Promise.all(waiting)
  assert.equal((await source.find('c'))?.keyId, 'key of c')
  assert.deepEqual(calls, [['a', 'b'], ['c']])
})

test('an answer with fewer records than were asked for serves none of the others', async () => {
  const { records } = start(() => known(['a']))
  const source = records({})
  const [first, second] = await Promise.allSettled([source.find('a'), source.find('b')])
  assert.equal(first?.status === 'fulfilled' && first.value?.keyId, 'key of a')
  assert.ok(second?.status === 'rejected' && second.reason.code === 'key_privacy_unavailable')
})
