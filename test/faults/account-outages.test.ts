// Goal: without control or its database the account API answers 503 in time, nothing is done twice or half, chat goes on, and
// all of it works again by itself. Method: a stack whose control is killed, stopped and brought back.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { ApiRoute } from '../../contract/api/route.ts'
import { API_ROUTES } from '../../contract/api/routes.ts'
import { RPC_API_STREAM } from '../../contract/wire/redisKeys.ts'
import { createPool } from '../../control/runtime/db/pool.ts'
import { api, apiOk, assertRefused, newOwner, type Owner } from '../support/clients/apiClient.ts'
import { chat, completion } from '../support/clients/chatClient.ts'
import { limits } from '../support/limits.ts'
import { type Stack, startStack, until } from '../support/stack.ts'

const M = 'test/small'
/** In how long an owner hears that control is down, on a machine that has nothing else to do. */
const WITHIN_MS = 2_000

let stack: Stack
let url: string
let owner: Owner

before(async () => {
  stack = await startStack({ ownPostgres: true, limits: { apiTimeoutMs: 5_000 } })
  url = stack.baseUrl
  owner = await newOwner(stack)
})

after(() => stack.finish())

const ROUTES: readonly ApiRoute[] = Object.values(API_ROUTES)
/** A path of every route of the account API, and what each takes as its credential; public reads are answered all the same. */
const REQUESTS = ROUTES.filter(({ cache }) => cache === undefined).map(({ method, path, auth }) => ({
  method,
  path: path.replace('{month}', '2026-01').replace(/\{\w+\}/g, 'key_0123456789ABCDEFGHJKMNPQRS'),
  token: () => (auth === 'key' ? owner.apiKey : auth === 'none' || auth === 'open' ? '' : owner.token),
  body: method === 'GET' || method === 'DELETE' ? {} : { body: {} },
}))

/** What control answers without its database: what is wrong or missing in a request, and payments where none are taken. */
const ASK_NO_DATABASE = [
  'POST /v1/auth/verify',
  'POST /v1/log/checkpoint',
  'GET /v1/log/consistency',
  'GET /x402/v1/credits/',
]

/** How many calls of the account API were ever given to control. */
function callsMade(): Promise<number> {
  return stack.withRedis(async (redis) => {
    const fields = (await redis.xinfo('STREAM', RPC_API_STREAM)) as unknown[]
    return Number(fields[fields.indexOf('entries-added') + 1])
  })
}

async function allRefused(requests = REQUESTS): Promise<void> {
  assert.ok(limits.apiTimeoutMs < WITHIN_MS)
  const before = await callsMade()
  const answers = await Promise.all(
    requests.map(async ({ method, path, token, body }) => {
      const answer = await api(url, method, path, { token: token(), ...body })
      return { name: `${method} ${path}`, answer }
    }),
  )
  for (const { name, answer } of answers) {
    assert.equal(answer.status, 503, `${name}: ${answer.text}`)
    assertRefused(answer, 503, 'admission_unavailable')
  }
  const calls = (await callsMade()) - before
  assert.ok(calls <= requests.length, `control was asked ${calls} times for ${requests.length} requests`)
}

const keys = async () =>
  (await apiOk<{ data: { id: string }[] }>(url, 'GET', '/v1/account/keys?limit=100', { token: owner.token })).data
    .length

const served = () =>
  until(
    'the account is served',
    async () => (await api(url, 'GET', '/v1/account', { token: owner.token })).status === 200,
  )

test('while control is down: 503 in time, chat is served, no change is applied later, and no restart is needed', async () => {
  const before = await keys()
  completion(await chat(url, owner.apiKey, { model: M, max_tokens: 1 }))
  await stack.control.kill9()
  await allRefused()
  completion(await chat(url, owner.apiKey, { model: M, max_tokens: 1 }))
  assert.equal(await stack.withRedis((redis) => redis.xlen(RPC_API_STREAM)), 0, 'what nobody waits for is withdrawn')
  await stack.control.start()
  await served()
  assert.equal(await keys(), before, 'a change that was answered 503 was not made')
})

test('without PostgreSQL: 503, and service recovers when it is back', async () => {
  await stack.postgres?.kill9()
  // What is wrong with a body is said without the database.
  await allRefused(
    REQUESTS.filter(({ method, path }) => !ASK_NO_DATABASE.some((other) => `${method} ${path}`.startsWith(other))),
  )
  await stack.postgres?.restart()
  await served()
})

test('control killed during a change makes it once or not at all', async () => {
  const before = await keys()
  const make = (key: string) =>
    api<{ id: string }>(url, 'POST', '/v1/account/keys', {
      token: owner.token,
      body: { name: key },
      headers: { 'idempotency-key': key },
    })
  const names = Array.from({ length: 20 }, (_, i) => `name-${i}`)
  const done = await make(names[0] ?? '')
  // The others come as far as the lock, where the kill meets them.
  const pool = createPool(stack.databaseUrl, limits)
  const blocker = await pool.connect()
  await blocker.query('BEGIN')
  await blocker.query('LOCK TABLE api_keys IN SHARE MODE')
  const others = names.slice(1).map(make)
  await until('one waits', async () => {
    return (await pool.query('SELECT 1 FROM pg_locks WHERE NOT granted')).rowCount !== 0
  })
  await stack.control.kill9()
  await blocker.query('ROLLBACK')
  blocker.release()
  await pool.end()
  const answers = [done, ...(await Promise.all(others))]
  assert.deepEqual([done.status, others.length], [201, names.length - 1])
  for (const answer of answers) if (answer.status !== 201) assertRefused(answer, 503, 'admission_unavailable')
  await stack.control.start()
  await served()
  const repeated = await Promise.all(names.map(make))
  for (const [i, answer] of repeated.entries()) {
    assert.equal(answer.status, 201, answer.text)
    if (answers[i]?.status === 201) assert.equal(answer.body.id, answers[i]?.body.id)
  }
  assert.equal(await keys(), before + names.length)
})
