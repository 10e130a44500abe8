// Goal: public reads are served with validators to everybody, also while control is away, and at a rate. Method: a whole
// stack whose control is killed.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { keptAnswerKey } from '../../../contract/wire/redisKeys.ts'
import { type Stack, startStack, until } from '../../support/stack.ts'

const PATH = '/v1/agents/leaderboard'
const BURST = 40
let stack: Stack

before(async () => {
  stack = await startStack({ limits: { apiRequestsPerMinute: 1, apiRequestBurst: BURST, keptAnswersMs: 200 } })
})
after(() => stack?.stop())

const read = (path: string, headers: Record<string, string> = {}, method = 'GET') =>
  fetch(`${stack.baseUrl}${path}`, { method, headers })

test('a response has an entity tag and an age, and 304 has no body', async () => {
  const first = await read(PATH, { origin: 'https://site.example' })
  const text = await first.text()
  assert.equal(first.status, 200)
  assert.equal(JSON.parse(text).object, 'list')
  const header = (name: string) => first.headers.get(name)
  assert.equal(header('cache-control'), 'public, max-age=10')
  assert.equal(header('access-control-allow-origin'), '*')
  assert.equal(header('access-control-expose-headers'), '*')
  assert.equal(header('vary'), 'origin')
  assert.match(header('age') ?? '', /^\d+$/)
  const etag = header('etag') ?? ''
  assert.match(etag, /^"[\w-]{22}"$/)
  for (const condition of [etag, `W/${etag}`, `"other", ${etag}`, '*']) {
    const unchanged = await read(PATH, { 'if-none-match': condition })
    assert.deepEqual([unchanged.status, await unchanged.text()], [304, ''])
    assert.equal(unchanged.headers.get('etag'), etag)
  }
  const other = await read(PATH, { 'if-none-match': '"other"' })
  assert.deepEqual([other.status, await other.text()], [200, text])
  const head = await read(PATH, {}, 'HEAD')
  assert.deepEqual([head.status, await head.text(), head.headers.get('content-length')], [200, '', `${text.length}`])
  const refused = await read(`${PATH}?days=0`)
  assert.deepEqual(
    [refused.status, ((await refused.json()) as { error: { param: string } }).error.param],
    [400, 'days'],
  )
})

test('without control the last response is served, also by a proxy that never requested it', async () => {
  await stack.withRedis((redis) => {
    return until('the answer to be in Redis', async () => (await redis.exists(keptAnswerKey(PATH))) === 1)
  })
  const before = await (await read(PATH)).text()
  await stack.control.kill9()
  await stack.proxy.kill9()
  await stack.proxy.start()
  const answer = await read(PATH)
  assert.deepEqual([answer.status, await answer.text()], [200, before])
  assert.equal((await read(`${PATH}?days=1`)).status, 503)
  await stack.control.start()
})

test('a client network that reads too often gets 429 with a retry time', async () => {
  const statuses: number[] = []
  for (let i = 0; i < BURST + 1; i++) statuses.push((await read(PATH)).status)
  assert.ok(statuses.includes(429), String(statuses))
})
