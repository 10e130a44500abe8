// The rules of video jobs in Redis, against a model of them: two jobs a key that are not billed, states that only go
// forward, and no clip that is made without its hold.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import fc from 'fast-check'
import { Redis } from 'ioredis'
import { VideoState, videoIdOf } from '../../../contract/catalog/video.ts'
import { newId } from '../../../contract/wire/ids.ts'
import { holdsKey, shardOf, videoSlotsKey } from '../../../contract/wire/redisKeys.ts'
import { type VideoJobFields, VideoStore } from '../../../proxy/endpoints/videos/videoStore.ts'
import { limitsWith } from '../../support/limits.ts'
import { itemOf } from '../../support/present.ts'
import { startTestRedis, type TestServer } from '../../support/services.ts'
import { until } from '../../support/stack.ts'

const OWNER = 'own_test'
const STATES = Object.values(VideoState)
const FINAL: ReadonlySet<VideoState> = new Set([VideoState.COMPLETED, VideoState.FAILED, VideoState.LOST])
const KEYS = 2
const JOBS = 5

let server: TestServer
let redis: Redis
const limits = limitsWith({ videoOpenGraceMs: 1_000_000_000 })

before(async () => {
  server = await startTestRedis()
  redis = new Redis(server.url)
})
after(async () => {
  redis.disconnect()
  await server.stop()
})

type Step =
  | { readonly do: 'open' | 'hold' | 'release' | 'drop'; readonly job: number }
  | { readonly do: 'write'; readonly job: number; readonly state: VideoState }

const job = fc.nat(JOBS - 1)
const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ do: fc.constantFrom('open', 'open', 'hold', 'hold', 'release', 'drop'), job }),
  fc.record({ do: fc.constant('write'), job, state: fc.constantFrom(...STATES) }),
  fc.record({ do: fc.constant('write'), job, state: fc.constantFrom(...STATES) }),
)

interface Modelled {
  state: VideoState | null
  held: boolean
  /** Its place among the jobs of the key: none, counted while fresh, or counted by its hold. */
  place: 'none' | 'fresh' | 'held'
}

/** What a write has to answer, by the rules. */
function expectedWrite(modelled: Modelled, state: VideoState): 'written' | 'no_hold' | 'overtaken' {
  const before = modelled.state ?? 0
  if (before >= VideoState.COMPLETED || (before === VideoState.MADE && state < VideoState.MADE)) return 'overtaken'
  return state <= VideoState.MADE && before !== VideoState.MADE && !modelled.held ? 'no_hold' : 'written'
}

class World {
  readonly store = new VideoStore(redis, limits)
  readonly accountId = newId('acct')
  readonly shard = shardOf(this.accountId)
  readonly keyIds = Array.from({ length: KEYS }, () => newId('key'))
  readonly jobs: VideoJobFields[] = Array.from({ length: JOBS }, (_, index) => ({
    requestId: newId('req'),
    accountId: this.accountId,
    keyId: itemOf(this.keyIds, index % KEYS),
    owner: OWNER,
    seconds: index,
  }))
  readonly model: Modelled[] = this.jobs.map(() => ({ state: null, held: false, place: 'none' }))

  counted(keyId: string): number {
    return this.model.filter(({ place, held }, index) => {
      if (itemOf(this.jobs, index).keyId !== keyId || place === 'none') return false
      return place === 'fresh' || held
    }).length
  }

  async take(one: Step): Promise<void> {
    const fields = itemOf(this.jobs, one.job)
    const modelled = itemOf(this.model, one.job)
    const holds = holdsKey(this.shard, OWNER)
    if (one.do === 'hold') {
      await redis.hset(holds, fields.requestId, 'x')
      modelled.held = true
    } else if (one.do === 'release') {
      await redis.hdel(holds, fields.requestId)
      modelled.held = false
    } else if (one.do === 'drop') {
      await this.store.drop(fields)
      Object.assign(modelled, { state: null, place: 'none' })
    } else if (one.do === 'write') await this.write(fields, modelled, one.state)
    else await this.open(fields, modelled)
    const read = await this.store.read(videoIdOf(fields.requestId))
    // One that was written without having been opened stands under no shard that could be looked up.
    if (modelled.state === null || read === null) return
    assert.deepEqual([read.state, read.held, read.job.seconds], [modelled.state, modelled.held, fields.seconds])
    assert.ok(read.madeAtMs <= read.nowMs)
    if (modelled.state === VideoState.MADE || modelled.state === VideoState.COMPLETED) assert.ok(read.madeAtMs > 0)
  }

  private async open(fields: VideoJobFields, modelled: Modelled): Promise<void> {
    // A request id is never opened twice.
    if (modelled.state !== null || modelled.place !== 'none') return
    const expected = this.counted(fields.keyId) < limits.videoJobsPerKeyMax
    assert.equal(await this.store.open(fields, VideoState.QUEUED), expected)
    if (expected) Object.assign(modelled, { state: VideoState.QUEUED, place: 'fresh' })
  }

  private async write(fields: VideoJobFields, modelled: Modelled, state: VideoState): Promise<void> {
    const expected = expectedWrite(modelled, state)
    assert.equal(await this.store.write(fields, state), expected)
    if (expected !== 'written') return
    modelled.state = state
    modelled.place = FINAL.has(state) ? 'none' : 'held'
  }
}

test('property: jobs in Redis keep their invariants for any sequence of events', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 30 }), async (steps) => {
      const world = new World()
      for (const one of steps) await world.take(one)
    }),
    { numRuns: 150 },
  )
})

test('a job that was opened but never held frees its slot after its grace period', async () => {
  const world = new World()
  const hasty = new VideoStore(redis, limitsWith({ videoOpenGraceMs: 50 }))
  const first = itemOf(world.jobs, 0)
  const second = itemOf(world.jobs, 2)
  const third = itemOf(world.jobs, 4)
  assert.equal(await hasty.open(first, VideoState.QUEUED), true)
  assert.equal(await hasty.open(second, VideoState.QUEUED), true)
  await until('a place is free', () => hasty.open(third, VideoState.QUEUED))
  const slots = videoSlotsKey(world.shard, third.keyId)
  assert.deepEqual(await redis.hmget(slots, first.requestId), [null])
  assert.equal(await redis.hexists(slots, third.requestId), 1)
})

test('jobs and their slots are removed after their retention time', async () => {
  const world = new World()
  const brief = new VideoStore(redis, limitsWith({ videoStateKeptMs: 50, videoJobMaxMs: 50 }))
  const one = itemOf(world.jobs, 0)
  await brief.open(one, VideoState.QUEUED)
  const id = videoIdOf(one.requestId)
  await until('nothing is left', async () => (await redis.keys(`*${world.accountId}*`)).length === 0)
  await until('the job is forgotten', async () => (await brief.read(id)) === null)
  await until('and where it was', async () => (await redis.keys(`video*${id.slice(6)}`)).length === 0)
  assert.equal(await redis.exists(videoSlotsKey(world.shard, one.keyId)), 0)
})

test('a job cannot outlast its hold', () => {
  assert.ok(limits.videoJobMaxMs <= limits.holdAgeMaxMs / 2)
  assert.ok(limits.videoOpenGraceMs > limits.redisTimeoutMs)
  assert.ok(limits.videoStateKeptMs > limits.videoKeptMs + limits.videoJobMaxMs)
})
