// Goal: whatever a sub-key runs (chat, streams, tools, batch jobs, videos) counts once against its platform key's budget,
// while it is held and when it is charged, also after Redis was lost; receipts and usage stay the sub-key's. Method: a whole
// stack; what the limits of the platform key show is compared with the receipts; then the audit.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { keyCountersKey, shardOf } from '../../../contract/wire/redisKeys.ts'
import { api, apiOk, type Json, newOwner, type Owner } from '../../support/clients/apiClient.ts'
import { BATCH_PRICE, BATCHING, ended, submitted } from '../../support/clients/batchClient.ts'
import { assertError, chat, completion, type Receipt, takeApart } from '../../support/clients/chatClient.ts'
import { callTool, searchTool } from '../../support/clients/toolClient.ts'
import {
  generate,
  newVideo,
  releaseVideos,
  SECOND_UNITS,
  videoIn,
  videoModel,
} from '../../support/clients/videoClient.ts'
import { assertReconciled } from '../../support/reconcile.ts'
import { type Stack, startStack, until, untilRead } from '../../support/stack.ts'

const M = 'test/small'

let stack: Stack
let url: string
let owner: Owner

before(async () => {
  stack = await startStack({
    workers: 2,
    limits: { videoPollMinMs: 50, batchGatherMs: 100, batchTickMs: 50, batchPollMs: 100 },
    catalog: {
      providers: [BATCHING],
      models: [
        { id: M },
        { id: 'test/batch', upstream: 'chat-small,prompt=100,completion=10', price: BATCH_PRICE },
        videoModel('test/held', 'mock,video=held'),
      ],
      tools: [searchTool('web.search')],
    },
  })
  url = stack.baseUrl
  owner = await newOwner(stack, { credits: '100' })
})
after(() => stack.finish())

interface Key {
  readonly id: string
  readonly api_key: string
}

const platformKey = (settings: Json) =>
  apiOk<Key>(url, 'POST', '/v1/account/keys', {
    token: owner.token,
    body: { platform: true, allow_retention: true, ...settings },
  })

async function subKey(platform: Key, settings: Json = {}): Promise<Key> {
  const made = await api<Key>(url, 'POST', '/v1/platform/keys', { token: platform.api_key, body: settings })
  assert.equal(made.status, 201, made.text)
  return made.body
}

/** Units that a key has used of its budget, as its limits show it. */
async function usedUnits({ id }: Key): Promise<number> {
  const { budget, caps } = await apiOk<{ budget: { used: string }; caps: Record<string, { used: string }> }>(
    url,
    'GET',
    `/v1/keys/${id}/limits`,
    { token: owner.token },
  )
  const units = Math.round(Number(budget.used) * 1e9)
  assert.equal(Math.round(Number(caps['month']?.used) * 1e9), units)
  return units
}

const unitsOf = (receipt: Receipt | null | undefined): number => Number((receipt ?? assert.fail()).cost.units)

test('every kind of request by a sub-key is counted once by its platform key, also after a loss of Redis', async () => {
  const platform = await platformKey({ budget: '10' })
  const [first, second] = [await subKey(platform), await subKey(platform, { budget: '5' })]
  const own = completion(await chat(url, platform.api_key, { model: M, max_tokens: 5 })).receipt
  const single = completion(await chat(url, first.api_key, { model: M, max_tokens: 5 })).receipt
  const streamed = takeApart(await chat(url, second.api_key, { model: M, max_tokens: 5, stream: true })).receipt
  const tool = JSON.parse((await callTool(url, first.api_key, 'web.search', { query: 'x' })).text) as {
    receipt: Receipt
  }
  const job = await ended(stack, second.api_key, await submitted(stack, second.api_key, { model: 'test/batch' }))
  const video = await newVideo(url, first.api_key, { model: 'test/held', seconds: 4 })

  const firstUnits = unitsOf(single) + unitsOf(tool.receipt) + 4 * SECOND_UNITS
  const secondUnits = unitsOf(streamed) + unitsOf(job.receipt)
  const counted = async () => [await usedUnits(platform), await usedUnits(first), await usedUnits(second)]
  const expected = [unitsOf(own) + firstUnits + secondUnits, firstUnits, secondUnits]
  await until('all but the clip is settled', async () => String(await counted()) === String(expected))
  await releaseVideos(stack)
  assert.equal(unitsOf((await videoIn(url, first.api_key, video.id, ['completed'])).receipt), 4 * SECOND_UNITS)
  await stack.settled()
  assert.deepEqual(await counted(), expected)
  await stack.audit()

  await stack.withRedis((redis) => redis.flushall())
  await until('admission is open', async () => (await chat(url, owner.apiKey, { model: M })).status === 200)
  assert.deepEqual(await counted(), expected, 'as the book says')
  await stack.settled()
  await stack.audit()

  const usage = await apiOk<{ total: { cost: { units: string } } }>(url, 'GET', '/v1/platform/usage', {
    token: platform.api_key,
  })
  const [all = 0] = await counted()
  assert.equal(Number(usage.total.cost.units), all - unitsOf(own), 'the usage of the sub-keys, each unit once')
  const log = await stack.provider.log()
  for (const receipt of [own, single, streamed]) assertReconciled(receipt ?? assert.fail(), log)
})

test('units held by one sub-key are not available to another until the hold ends', async () => {
  const platform = await platformKey({ budget: '0.5' })
  const [first, second] = [await subKey(platform), await subKey(platform)]
  const video = await newVideo(url, first.api_key, { model: 'test/held', seconds: 4 })
  // The clip holds 0.4 of the budget, and a second one does not fit.
  const reply = await generate(url, second.api_key, { model: 'test/held', seconds: 4 })
  assertError(reply, 402, 'key_budget_exceeded')
  assert.match(reply.text, /platform key's budget/)
  completion(await chat(url, second.api_key, { model: M, max_tokens: 5 }))
  await releaseVideos(stack)
  await videoIn(url, first.api_key, video.id, ['completed'])
  await stack.settled()
  await stack.audit()
})

test('the first request of an hour counts in it, and does not use the rate limit of the platform key', async () => {
  const platform = await platformKey({ budget: '10' })
  const sub = await subKey(platform)
  const counters = keyCountersKey(shardOf(owner.accountId), platform.id)
  const earlier = { hw: 1, hs: 77, dw: 2, ds: 77, mw: 3, ms: 77, tat: 12_345 }
  await stack.withRedis((redis) => redis.hset(counters, earlier))
  const units = unitsOf(completion(await chat(url, sub.api_key, { model: M, max_tokens: 5 })).receipt)
  await stack.settled()
  const counted = await stack.withRedis((redis) => redis.hmget(counters, 'hs', 'ds', 'ms', 'bs', 'tat'))
  assert.deepEqual(counted, [...Array(4).fill(String(units)), '12345'])
  await stack.audit()
})

test('a cap added to a platform key counts the earlier spending of its sub-keys', async () => {
  const platform = await platformKey({})
  const [first, second] = [await subKey(platform), await subKey(platform)]
  completion(await chat(url, first.api_key, { model: M, max_tokens: 5 }))
  completion(await chat(url, second.api_key, { model: M, max_tokens: 5 }))
  await stack.settled()
  const spent = await usedUnits(platform)
  assert.ok(spent > 0)
  const caps = { caps: { day: String(spent / 1e9) } }
  await apiOk(url, 'PATCH', `/v1/account/keys/${platform.id}`, { token: owner.token, body: caps })
  for (const by of [first, second]) {
    const ask = () => chat(url, by.api_key, { model: M, max_tokens: 5 })
    const refused = await untilRead('it is refused', ask, ({ status }) => status === 402)
    assertError(refused, 402, 'spend_limit_exceeded')
    assert.match(refused.text, /platform key's daily cap/)
  }
  await stack.settled()
  await stack.audit()
})

test('the audit finds a platform key whose counter differs from the spending of its sub-keys', async () => {
  const platform = await platformKey({})
  completion(await chat(url, (await subKey(platform)).api_key, { model: M, max_tokens: 5 }))
  await stack.settled()
  const shift = (units: number) =>
    stack.withRedis(async (redis) => {
      const [counters = assert.fail()] = await redis.keys(`key:{*}:${platform.id}`)
      await redis.hincrby(counters, 'bs', units)
    })
  await shift(-1)
  await assert.rejects(stack.audit(), new RegExp(platform.id))
  await shift(1)
  await stack.audit()
})
