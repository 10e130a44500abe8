// Goal: answers to public reads are kept as long as their route allows, within bounds, and given while control is away.
// Method: the store over a control and a Redis that the test answers for.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { GatewayError } from '../../../../contract/errors/errors.ts'
import { sluice } from '../../../../contract/wire/generated/messages.js'
import { keptAnswerKey } from '../../../../contract/wire/redisKeys.ts'
import { ControlUnavailable } from '../../../../proxy/bus/rpcClient.ts'
import { KeptAnswers } from '../../../../proxy/endpoints/keptAnswers.ts'
import { limits } from '../../../support/limits.ts'

class World {
  readonly left = new Map<string, Buffer>()
  alive = true
  away = false
  asked = 0
  body = 'one'
  readonly kept: KeptAnswers

  constructor(changes: Partial<typeof limits> = {}) {
    this.kept = new KeptAnswers({
      redis: { status: 'ready', getBuffer: async (key: unknown) => this.left.get(String(key)) ?? null },
      controlAlive: () => this.alive,
      limits: { ...limits, ...changes },
    })
  }

  async read(path: string, query = '', maxAgeMs = 60_000): Promise<string> {
    return (await this.find(path, query, maxAgeMs)).body.toString()
  }

  find(path: string, query = '', maxAgeMs = 60_000) {
    return this.kept.find({ path, query, maxAgeMs, ask: () => this.answer() })
  }

  private async answer(): Promise<sluice.ApiReply> {
    this.asked++
    if (this.away) throw new ControlUnavailable('account_api')
    return sluice.ApiReply.create({ status: 200, contentType: 'text/plain', body: Buffer.from(this.body) })
  }
}

test('a response is fetched once while it is fresh, for any order of its query', async () => {
  const world = new World()
  const first = await Promise.all([world.find('/v1/a', 'x=1&y=2'), world.find('/v1/a', 'y=2&x=1')])
  assert.equal(first[0].etag, first[1].etag)
  world.body = 'two'
  assert.equal(await world.read('/v1/a', 'y=2&x=1'), 'one')
  assert.equal(world.asked, 1)
  assert.equal(await world.read('/v1/a', 'y=2&x=1', 0), 'two')
  assert.equal(await world.read('/v1/a'), 'two')
  assert.equal(world.asked, 3)
  assert.notEqual((await world.find('/v1/a')).etag, first[0].etag)
})

test('while control is down the last response is served, from memory or from Redis, but errors are not', async () => {
  const world = new World()
  await world.read('/v1/a')
  world.away = true
  assert.equal(await world.read('/v1/a', '', 0), 'one')
  assert.equal(world.asked, 2)
  world.alive = false
  assert.equal(await world.read('/v1/a', '', 0), 'one')
  assert.equal(world.asked, 2, 'not asked once it is known to be away')
  await assert.rejects(world.read('/v1/b'), ControlUnavailable)
  const reply = { status: 200, contentType: 'text/plain', body: Buffer.from('left') }
  world.left.set(keptAnswerKey('/v1/b'), Buffer.from(sluice.KeptAnswer.encode({ reply, madeAtMs: 1_000 }).finish()))
  const found = await world.find('/v1/b')
  assert.deepEqual([found.body.toString(), found.madeAtMs, found.contentType], ['left', 1_000, 'text/plain'])
  await assert.rejects(world.read('/v1/b', 'page=2'), ControlUnavailable)
  Object.assign(world, { alive: true, away: false })
  assert.equal(await world.read('/v1/b'), 'one')
})

test('while the database is down the last response is served', async () => {
  const { kept } = new World()
  const ask = async () => sluice.ApiReply.create({ status: 200, contentType: 'text/plain', body: Buffer.from('one') })
  const first = await kept.find({ path: '/v1/a', query: '', maxAgeMs: 0, ask })
  const refuse = () => Promise.reject(new GatewayError('admission_unavailable'))
  assert.equal(await kept.find({ path: '/v1/a', query: '', maxAgeMs: 0, ask: refuse }), first)
  await assert.rejects(kept.find({ path: '/v1/b', query: '', maxAgeMs: 0, ask: refuse }), {
    code: 'admission_unavailable',
  })
})

test('errors from control are passed on and not cached', async () => {
  const { kept } = new World()
  const ask = () => Promise.reject(new GatewayError('not_found'))
  for (let i = 0; i < 2; i++) {
    await assert.rejects(kept.find({ path: '/v1/a', query: '', maxAgeMs: 60_000, ask }), { code: 'not_found' })
  }
})

test('the cache is bounded and keeps the most recently read responses', async () => {
  const few = new World({ keptAnswersMax: 2 })
  for (const path of ['/a', '/b', '/a', '/c', '/a', '/b']) await few.read(path)
  assert.equal(few.asked, 4)
  const small = new World({ keptAnswerBytesMax: 5 })
  for (const path of ['/a', '/b', '/a', '/b']) await small.read(path)
  assert.equal(small.asked, 4)
  const long = new World({ keptAnswerNameCharactersMax: 8 })
  for (let i = 0; i < 2; i++) await long.read('/v1/a', 'x=1234567')
  assert.equal(long.asked, 2)
})
