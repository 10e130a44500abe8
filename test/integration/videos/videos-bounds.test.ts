import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { newId, newSecret } from '../../../contract/wire/ids.ts'
import { shardOf, videoSlotsKey } from '../../../contract/wire/redisKeys.ts'
import { assertError } from '../../support/clients/chatClient.ts'
import {
  clipOf,
  contentReply,
  generate,
  newVideo,
  providerVideos,
  releaseVideos,
  rewriteVideo,
  SECOND_UNITS,
  type VideoObject,
  videoIn,
  videoModel,
  videoReply,
} from '../../support/clients/videoClient.ts'
import { assertSecondsReconciled } from '../../support/reconcile.ts'
import { type Stack, startStack, until } from '../../support/stack.ts'

let stack: Stack

before(async () => {
  stack = await startStack({
    workers: 2,
    limits: { videoPollMinMs: 50, videoPollMaxMs: 200, videoJobsMax: 12, videoStateKeptMs: 15_000 },
    catalog: {
      models: [
        videoModel('test/clip', 'mock,video=held'),
        videoModel('test/quick', 'mock'),
        videoModel('test/slow', 'mock,video=held,make=1'),
        videoModel('test/refused', 'mock,error=400'),
      ],
    },
  })
})

after(() => stack.finish())

test('of many concurrent requests of a key, over all workers, two become jobs', async () => {
  const { apiKey } = await stack.createAccount({ credits: '100' })
  const other = await stack.createAccount({ credits: '100' })
  for (let round = 0; round < 3; round++) {
    const replies = await Promise.all(
      Array.from({ length: 16 }, () => generate(stack.baseUrl, apiKey, { model: 'test/clip' })),
    )
    const taken = replies.filter((reply) => reply.status === 202)
    assert.equal(taken.length, 2)
    for (const reply of replies.filter((one) => one.status !== 202)) {
      assertError(reply, 429, 'too_many_video_jobs')
      assert.ok(Number(reply.headers.get('retry-after')) >= 1)
    }
    await releaseVideos(stack)
    // Another key has its own two.
    await newVideo(stack.baseUrl, other.apiKey, { model: 'test/quick' })
    for (const reply of taken) {
      const { id } = JSON.parse(reply.text) as VideoObject
      const { receipt } = await videoIn(stack.baseUrl, apiKey, id, ['completed'])
      assert.ok(receipt !== null)
      assertSecondsReconciled(receipt, await providerVideos(stack), SECOND_UNITS)
    }
  }
})

test('a job that has ended, or never started, frees its slot immediately', async () => {
  const { apiKey } = await stack.createAccount({ credits: '100' })
  for (let i = 0; i < 4; i++) {
    assertError(await generate(stack.baseUrl, apiKey, { model: 'test/refused' }), 400, 'upstream_rejected')
  }
  for (let i = 0; i < 4; i++) {
    const job = await newVideo(stack.baseUrl, apiKey, { model: 'test/quick' })
    await videoIn(stack.baseUrl, apiKey, job.id, ['completed'])
  }
  const poor = await stack.createAccount({ credits: '0.1' })
  for (let i = 0; i < 4; i++) {
    assertError(await generate(stack.baseUrl, poor.apiKey, { model: 'test/quick' }), 402, 'insufficient_balance')
  }
})

test('slots of jobs whose hold has ended are reused', async () => {
  const { json } = await stack.cli('account', 'create', '--credits', '5')
  const made = json as { account_id: string; key_id: string; api_key: string }
  const slots = videoSlotsKey(shardOf(made.account_id), made.key_id)
  await stack.withRedis(async (redis) => {
    await until('the account can pay', async () => (await generateQuick(made.api_key)).status === 202)
    await until('its job has left its place', async () => (await redis.exists(slots)) === 0)
    const opened = (atMs: number) => [newId('req'), `own_gone|${atMs}`, newId('req'), `own_gone|${atMs}`]
    await redis.hset(slots, ...opened(Date.now() - 60_000))
    assert.equal((await generateQuick(made.api_key)).status, 202)
    await until('nothing is left of the dead', async () => (await redis.exists(slots)) === 0)
    // Those that were opened just now may be about to take their hold.
    await redis.hset(slots, ...opened(Date.now()))
    assertError(await generateQuick(made.api_key), 429, 'too_many_video_jobs')
  })
})

const generateQuick = (apiKey: string) => generate(stack.baseUrl, apiKey, { model: 'test/quick' })

test('the number of concurrent videos is bounded for the gateway', async () => {
  const accounts = await Promise.all(Array.from({ length: 20 }, () => stack.createAccount({ credits: '100' })))
  const replies = await Promise.all(
    accounts.flatMap(({ apiKey }) => [1, 2].map(() => generate(stack.baseUrl, apiKey, { model: 'test/slow' }))),
  )
  const taken = replies.filter((reply) => reply.status === 202)
  // Two workers with twelve places each.
  assert.ok(taken.length >= 12 && taken.length <= 24, `${taken.length} were taken`)
  for (const reply of replies.filter((one) => one.status !== 202)) {
    const error = assertError(reply, 429, 'too_many_video_jobs')
    assert.match(error.message, /gateway/)
    assert.ok(Number(reply.headers.get('retry-after')) >= 1)
  }
  await releaseVideos(stack)
  await stack.settled()
  const log = await providerVideos(stack)
  assert.equal(log.filter((job) => job.model === 'mock,video=held,make=1').length, taken.length)
})

test('a clip is kept for its retention time, then it is removed, and finally the job is removed', async () => {
  const { apiKey } = await stack.createAccount({ credits: '100' })
  const { id } = await newVideo(stack.baseUrl, apiKey, { model: 'test/quick' })
  await videoIn(stack.baseUrl, apiKey, id, ['completed'])
  assert.equal((await clipOf(stack.baseUrl, apiKey, id)).length, 65_536)
  await rewriteVideo(stack, id, { madeAgoMs: 1_800_001 })
  assertError(await contentReply(stack.baseUrl, apiKey, id), 410, 'video_expired')
  const late = JSON.parse((await videoReply(stack.baseUrl, apiKey, id)).text) as VideoObject
  assert.equal(late.status, 'completed')
  assert.ok(Number(late.expires_at) * 1_000 <= Date.now())
  await until('the job is forgotten', async () => (await videoReply(stack.baseUrl, apiKey, id)).status === 404)
})

test('a job paid per request is read only with its read token', async () => {
  const { apiKey } = await stack.createAccount({ credits: '100' })
  const { id } = await newVideo(stack.baseUrl, apiKey, { model: 'test/quick' })
  await videoIn(stack.baseUrl, apiKey, id, ['completed'])
  const token = newSecret('rt')
  await makePaid(id, token)
  for (const read of [videoReply, contentReply]) {
    for (const credential of ['', apiKey, newSecret('rt')]) {
      const error = assertError(await read(stack.baseUrl, credential, id), 401, 'read_token_required')
      assert.equal(error.type, 'authentication_error')
    }
    assert.equal((await read(stack.baseUrl, token, id)).status, 200)
  }
})

/** Puts the hash of a read token into a job, as whoever takes jobs for payments does. */
async function makePaid(videoId: string, token: string): Promise<void> {
  const { sluice } = await import('../../../contract/wire/generated/messages.js')
  const { hashSecret } = await import('../../../contract/wire/ids.ts')
  await stack.withRedis(async (redis) => {
    const [key = ''] = await redis.keys(`video:{*}:${videoId}`)
    const encoded = await redis.hgetBuffer(key, 'j')
    assert.ok(encoded !== null)
    const job = { ...sluice.VideoJob.decode(encoded), readTokenHash: hashSecret(token) }
    await redis.hset(key, 'j', Buffer.from(sluice.VideoJob.encode(job).finish()))
  })
}
