// Processes die and leave while clips are made. What a client was told stays true: a job that was called lost is never
// charged, one that is charged can be fetched, and no job is charged twice.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { VideoState } from '../../contract/catalog/video.ts'
import { sluice } from '../../contract/wire/generated/messages.js'
import { settleKeys, shardOf } from '../../contract/wire/redisKeys.ts'
import { defineScript, SettleCode } from '../../contract/wire/scripts.ts'
import { assertError, receiptOf } from '../support/clients/chatClient.ts'
import {
  clipOf,
  contentReply,
  generate,
  newVideo,
  providerVideos,
  rewriteVideo,
  SECOND_UNITS,
  type VideoObject,
  videoIn,
  videoModel,
  videoReply,
} from '../support/clients/videoClient.ts'
import { limits } from '../support/limits.ts'
import { present } from '../support/present.ts'
import { assertSecondsReconciled } from '../support/reconcile.ts'
import { rounds } from '../support/rounds.ts'
import { type Stack, type StackOptions, startStack, type TestAccount, until } from '../support/stack.ts'
import { childrenOf } from '../support/workload.ts'

const ROUNDS = rounds({ short: 2, long: 5 })
const KILL_MS_MAX = 400
const CATALOG = {
  models: [
    videoModel('test/quick', 'mock,make=300'),
    videoModel('test/paced', 'mock,make=1500'),
    videoModel('test/endless', 'mock,video=stuck'),
  ],
}
const LIMITS = {
  videoPollMinMs: 50,
  videoPollMaxMs: 200,
  heartbeatIntervalMs: 200,
  heartbeatTimeoutMs: 4_000,
  orphanCheckMs: 200,
  settleTimeoutMs: 500,
  redisTimeoutMs: 4_000,
}

async function withStack(
  options: StackOptions,
  work: (stack: Stack, account: TestAccount) => Promise<void>,
): Promise<void> {
  const stack = await startStack({ catalog: CATALOG, ...options, limits: { ...LIMITS, ...options.limits } })
  try {
    await work(stack, await stack.createAccount({ credits: '1000' }))
  } finally {
    await stack.finish()
  }
}

/** A stack for the tests of a suite. @returns what runs one of them on it, with an account of its own, and then audits the books */
function sharedStack(
  options: StackOptions,
): (work: (stack: Stack, account: TestAccount) => Promise<void>) => Promise<void> {
  let stack: Stack
  before(async () => {
    stack = await startStack({ catalog: CATALOG, limits: LIMITS, ...options })
  })
  after(() => stack.stop())
  return async (work) => {
    await work(stack, await stack.createAccount({ credits: '1000' }))
    await stack.settled()
    await stack.audit()
  }
}

function workersOf(stack: Stack): number[] {
  assert.ok(stack.proxy.pid !== undefined)
  return childrenOf(stack.proxy.pid)
}

/** Kills every worker and waits until others have taken their places. */
async function killWorkers(stack: Stack): Promise<void> {
  const before = workersOf(stack)
  for (const pid of before) process.kill(pid, 'SIGKILL')
  await until('new workers run', () => workersOf(stack).some((pid) => !before.includes(pid)))
  await stack.ready()
}

async function assertLost(stack: Stack, apiKey: string, job: VideoObject): Promise<void> {
  await until(`${job.id} is lost`, async () => (await videoReply(stack.baseUrl, apiKey, job.id)).status !== 200)
  for (const read of [videoReply, contentReply]) {
    const reply = await read(stack.baseUrl, apiKey, job.id)
    assertError(reply, 503, 'gateway_restart')
    assert.ok(Number(reply.headers.get('retry-after')) >= 1)
  }
}

describe('one worker', () => {
  const onStack = sharedStack({})

  test('kill -9: the jobs of the worker are lost and not charged, and their slots are free', async () => {
    await onStack(async (stack, { apiKey }) => {
      const jobs = [
        await newVideo(stack.baseUrl, apiKey, { model: 'test/endless' }),
        await newVideo(stack.baseUrl, apiKey, { model: 'test/endless' }),
      ]
      assertError(await generate(stack.baseUrl, apiKey, { model: 'test/quick' }), 429, 'too_many_video_jobs')
      await killWorkers(stack)
      for (const job of jobs) await assertLost(stack, apiKey, job)
      await stack.settled()
      for (const job of jobs) {
        const receipt = await receiptOf(stack.baseUrl, apiKey, job.request_id)
        assert.deepEqual([receipt.status, receipt.cost.units], ['orphaned', '0'])
      }
      const next = await newVideo(stack.baseUrl, apiKey, { model: 'test/quick' })
      await videoIn(stack.baseUrl, apiKey, next.id, ['completed'])
      for (const job of jobs) await assertLost(stack, apiKey, job)
    })
  })

  test('Redis is killed while clips are made: they are charged once it is back', async () => {
    await onStack(async (stack, { apiKey }) => {
      const job = await newVideo(stack.baseUrl, apiKey, { model: 'test/paced' })
      // Redis writes its file every second.
      await sleep(1_200)
      await stack.redis.kill9()
      await until('reads are refused', async () => (await videoReply(stack.baseUrl, apiKey, job.id)).status === 503)
      assertError(await generate(stack.baseUrl, apiKey, { model: 'test/quick' }), 503, 'admission_unavailable')
      await until('the clip is made', async () => (await providerVideos(stack)).at(-1)?.status === 'completed')
      await stack.redis.restart()
      await until('the gateway is back', async () => (await videoReply(stack.baseUrl, apiKey, job.id)).status === 200)
      const done = await videoIn(stack.baseUrl, apiKey, job.id, ['completed'])
      assert.ok(done.receipt !== null)
      assertSecondsReconciled(done.receipt, await providerVideos(stack), SECOND_UNITS)
    })
  })
})

describe('two workers', () => {
  const onStack = sharedStack({ workers: 2 })

  test('kill -9 at any moment: charged clips can be fetched, lost clips are not charged', async () => {
    await onStack(async (stack) => {
      const jobs: { apiKey: string; job: VideoObject }[] = []
      const accounts = await Promise.all(Array.from({ length: 5 }, () => stack.createAccount({ credits: '1000' })))
      for (let round = 0; round < ROUNDS; round++) {
        for (const { apiKey } of [...accounts, ...accounts]) {
          const job = await newVideo(stack.baseUrl, apiKey, { model: 'test/quick' })
          jobs.push({ apiKey, job })
        }
        // From before the first is made until after the last.
        await sleep((round * KILL_MS_MAX) / (ROUNDS - 1))
        await killWorkers(stack)
        // Nobody asks while the killed are being found out.
        await stack.settled()
      }
      const made = await providerVideos(stack)
      let completed = 0
      for (const { apiKey, job } of jobs) {
        let reply = await videoReply(stack.baseUrl, apiKey, job.id)
        await until(`${job.id} has ended`, async () => {
          reply = await videoReply(stack.baseUrl, apiKey, job.id)
          return reply.status !== 200 || (JSON.parse(reply.text) as VideoObject).status === 'completed'
        })
        const receipt = await receiptOf(stack.baseUrl, apiKey, job.request_id)
        if (reply.status === 200) {
          completed++
          assert.equal(receipt.status, 'ok')
          assertSecondsReconciled(receipt, made, SECOND_UNITS)
          assert.equal((await clipOf(stack.baseUrl, apiKey, job.id)).length, 65_536)
        } else {
          assertError(reply, 503, 'gateway_restart')
          assert.equal(receipt.cost.units, '0')
        }
      }
      assert.ok(completed > 0 && completed < jobs.length, `${completed} of ${jobs.length} were completed`)
    })
  })

  test('SIGTERM: running jobs may end, new ones are rejected, and the clips are there after the restart', async () => {
    await onStack(async (stack, { apiKey }) => {
      const job = await newVideo(stack.baseUrl, apiKey, { model: 'test/paced' })
      const left = stack.proxy.sigterm()
      await until('new jobs are refused', async () => {
        const reply = await generate(stack.baseUrl, apiKey, { model: 'test/quick' })
        // Until the workers hear of it they take jobs, as many as a key may have.
        if (reply.status === 202 || reply.status === 429) return false
        assertError(reply, 503, 'restarting')
        assert.ok(Number(reply.headers.get('retry-after')) >= 1)
        return true
      })
      assert.equal(await left, 0)
      await stack.proxy.start()
      await stack.ready()
      const done = await videoIn(stack.baseUrl, apiKey, job.id, ['completed'])
      assert.ok(done.receipt !== null)
      assertSecondsReconciled(done.receipt, await providerVideos(stack), SECOND_UNITS)
      assert.equal((await clipOf(stack.baseUrl, apiKey, job.id)).length, 65_536)
    })
  })

  test('a clip completed when its worker died is charged by its first reader, or not at all', async () => {
    await onStack(async (stack, { apiKey, accountId }) => {
      const job = await newVideo(stack.baseUrl, apiKey, { model: 'test/quick' })
      await videoIn(stack.baseUrl, apiKey, job.id, ['completed'])
      await stack.settled()
      // The job as it stands when its worker dies between the settlement and the last write. Whoever reads it soon after the
      // clip was made leaves it to its own worker: it is still being made.
      await rewriteVideo(stack, job.id, { state: VideoState.MADE, madeAgoMs: -60_000 })
      const shown = JSON.parse((await videoReply(stack.baseUrl, apiKey, job.id)).text) as VideoObject
      assert.equal(shown.status, 'in_progress')
      assertError(await contentReply(stack.baseUrl, apiKey, job.id), 409, 'video_not_ready')
      await rewriteVideo(stack, job.id, { madeAgoMs: 10_000 })
      const again = await videoIn(stack.baseUrl, apiKey, job.id, ['completed'])
      assert.equal(again.receipt?.cost.units, String(4 * SECOND_UNITS))
      assert.equal((await clipOf(stack.baseUrl, apiKey, job.id)).length, 65_536)
      // Only a clip that is made and was held for its time is gone.
      await rewriteVideo(stack, job.id, { madeAgoMs: 1_800_001 })
      assertError(await contentReply(stack.baseUrl, apiKey, job.id), 410, 'video_expired')
      await stack.settled()
      const { json } = await stack.cli('account', 'show', accountId)
      assert.equal((json as { balance: { credits: string } }).balance.credits, '999.6')
    })
  })
})

test('SIGTERM: jobs that outlast their grace period are abandoned and not charged', async () => {
  await withStack({ limits: { drainGraceMs: 300 } }, async (stack, { apiKey }) => {
    const job = await newVideo(stack.baseUrl, apiKey, { model: 'test/endless' })
    const startedMs = performance.now()
    assert.equal(await stack.proxy.sigterm(), 0)
    assert.ok(performance.now() - startedMs < limits.drainGraceMs, 'the proxy waited for longer than it was to')
    await stack.settled()
    await stack.proxy.start()
    await stack.ready()
    await assertLost(stack, apiKey, job)
    const receipt = await receiptOf(stack.baseUrl, apiKey, job.request_id)
    assert.deepEqual([receipt.status, receipt.cost.units, receipt.error], ['cut', '0', 'gateway_restart'])
  })
})

test('a job whose hold control voids is abandoned, and a later clip of its provider is not charged', async () => {
  await withStack({}, async (stack, { apiKey, accountId }) => {
    const job = await newVideo(stack.baseUrl, apiKey, { model: 'test/paced' })
    const shard = shardOf(accountId)
    await stack.withRedis(async (redis) => {
      const [holds] = await redis.keys('holds:*')
      const owner = present(holds).slice(present(holds).lastIndexOf(':') + 1)
      const [keyId = ''] = (await redis.keys(`key:{*}:*`)).map((key) => key.slice(key.lastIndexOf(':') + 1))
      const settlement = sluice.Settlement.encode({
        requestId: job.request_id,
        accountId,
        keyId,
        model: job.model,
        endpoint: 'videos',
        status: sluice.Status.ORPHANED,
        holdUnits: Number(job.hold.units),
        sheetVersion: 1,
      }).finish()
      const keys = settleKeys(shard, accountId, keyId, owner)
      const args = [1, 5, job.request_id, -1, Buffer.from(settlement)]
      assert.deepEqual(await defineScript(redis, 'settle')(keys, args), [SettleCode.SETTLED, -1])
    })
    await assertLost(stack, apiKey, job)
    await until('the provider has made the clip', async () => (await providerVideos(stack))[0]?.status === 'completed')
    await stack.settled()
    await assertLost(stack, apiKey, job)
    const receipt = await receiptOf(stack.baseUrl, apiKey, job.request_id)
    assert.deepEqual([receipt.status, receipt.cost.units], ['orphaned', '0'])
  })
})

test('a job ends before its hold is old enough to be voided', async () => {
  await withStack({ limits: { holdAgeMaxMs: 3_000, ownerScanMs: 200 } }, async (stack, { apiKey }) => {
    const job = await newVideo(stack.baseUrl, apiKey, { model: 'test/endless' })
    const done = await videoIn(stack.baseUrl, apiKey, job.id, ['failed'])
    assert.match(done.error?.message ?? '', /took too long/)
  })
})
