// Goal: limits of keys, accounts, platform keys and models hold over all proxies, in requests and tokens a minute and in flight; clients
// are told what is left and when to come again, and the receipts of no minute exceed a limit. Method: a whole stack of two proxies of
// two workers, limits by the API, the command line and the catalog; then the audit.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { createPool } from '../../../control/runtime/db/pool.ts'
import { api, apiOk, assertRefused, type Json, newOwner, type Owner } from '../../support/clients/apiClient.ts'
import { assertError, chat, completion, type Reply } from '../../support/clients/chatClient.ts'
import { limits } from '../../support/limits.ts'
import { KeyedProvider, type KnownKey } from '../../support/providers/keyedProvider.ts'
import { rounds } from '../../support/rounds.ts'
import { type Stack, startStack, until, untilRead } from '../../support/stack.ts'

const M = 'test/plain'
const MINUTE_MS = 60_000
/** Of a request and its answer, as the provider reports it. */
const TOKENS = 6

let stack: Stack
let provider: KeyedProvider
let known: KnownKey
let owner: Owner

before(async () => {
  provider = await KeyedProvider.start()
  known = provider.allow('secret')
  const routes = [{ provider: 'acme', model: 'x' }]
  stack = await startStack({
    workers: 2,
    proxies: 2,
    env: { ACME_KEY: 'secret' },
    limits: { apiRequestsPerMinute: 60_000, apiRequestBurst: 10_000 },
    catalog: {
      providers: [{ id: 'acme', base_url: provider.url, api_key_env: 'ACME_KEY' }],
      models: [
        { id: M, routes },
        { id: 'test/limited', routes, limits: { requests_per_minute: 3 } },
      ],
    },
  })
  owner = await newOwner(stack)
})
after(async () => {
  await provider.stop()
  await stack.finish()
})

interface Key extends Json {
  readonly id: string
  readonly api_key: string
}

const url = (i = 0): string => stack.baseUrls[i % 2] ?? ''
const newKey = (body: Json, by = owner) => apiOk<Key>(url(), 'POST', '/v1/account/keys', { token: by.token, body })
const ask = (key: Key, more: object = {}, i = 0): Promise<Reply> =>
  chat(url(i), key.api_key, { model: M, max_tokens: 10, ...more })
const limitOf = ({ headers }: Reply) =>
  ['limit', 'remaining', 'reset'].flatMap((part) =>
    ['requests', 'tokens'].map((kind) => headers.get(`x-ratelimit-${part}-${kind}`)),
  )

/** Refused by a limit, with the wait. @returns its seconds */
function refused(reply: Reply, message: RegExp): number {
  assertError(reply, 429, 'rate_limited')
  assert.match(reply.text, message)
  return Number(reply.headers.get('retry-after'))
}

test('a request without limits has no headers of limits', async () => {
  const reply = await ask(await newKey({}))
  completion(reply)
  assert.deepEqual(limitOf(reply), [null, null, null, null, null, null])
})

test("a key's tokens a minute are told with each answer, and refused beyond", async () => {
  const key = await newKey({ tokens_per_minute: 200 })
  assert.equal(key['tokens_per_minute'], 200)
  const first = await ask(key)
  completion(first)
  const [, limit, , left, , reset] = limitOf(first)
  assert.deepEqual([limit, reset], ['200', '1m2s'])
  const worst = 200 - Number(left)
  assert.ok(worst >= 10 + TOKENS && worst < 100, `${left}`)
  // What it did not use is free again, on every process.
  for (let i = 1; i < 12; i++) {
    await until('the last one is corrected', async () => {
      const reply = await ask(key, {}, i)
      if (reply.status === 200) completion(reply)
      else refused(reply, /The key has used its 200 tokens a minute/)
      return reply.status === 200
    })
  }
  const large = await ask(key, { max_tokens: 210 - worst })
  const seconds = refused(large, /The key has used its 200 tokens a minute/)
  assert.ok(seconds > 1 && seconds <= 62, `${seconds}`)
  assert.equal(limitOf(large)[1], '200')
  // No wait helps a request that could use more than a whole minute's.
  const tooLarge = await ask(key, { max_tokens: 300 })
  assertError(tooLarge, 400, null, 'max_tokens')
  assert.match(tooLarge.text, /The key may use 200 tokens a minute/)
})

test('a limit is changed and removed, and holds on every process soon', async () => {
  const key = await newKey({ tokens_per_minute: 1_000_000, parallel: 5 })
  const change = (body: Json) => apiOk<Key>(url(), 'PATCH', `/v1/account/keys/${key.id}`, { token: owner.token, body })
  completion(await ask(key))
  assert.deepEqual((await change({ tokens_per_minute: 1, parallel: null }))['parallel'], null)
  for (const i of [0, 1]) await until('it holds', async () => (await ask(key, {}, i)).status === 400)
  await change({ tokens_per_minute: null })
  for (const i of [0, 1]) await until('it is gone', async () => (await ask(key, {}, i)).status === 200)
})

test('requests in flight are limited over all processes, and the end of one lets the next in', async () => {
  const { json } = await stack.cli('key', 'create', owner.accountId, '--parallel', '2')
  const key = json as Key
  provider.holds = true
  const open = [ask(key, {}, 0), ask(key, {}, 1)]
  await until('both are at the provider', async () => provider.waiting === 2)
  assert.equal(refused(await ask(key, {}, 1), /The key has used its 2 requests in flight/), 1)
  provider.release()
  for (const reply of await Promise.all(open)) completion(reply)
  await until('their permits are back', async () => (await ask(key)).status === 200)
})

test("an account's limits are those of all its keys together", async () => {
  const other = await newOwner(stack)
  const keys = [await newKey({}, other), await newKey({}, other)] as const
  const set = await stack.cli('account', 'update', other.accountId, '--rpm', '3', '--tpm', '100000', '--parallel', '9')
  assert.equal((set.json as Json)['requests_per_minute'], 3)
  const shown = await apiOk<Json>(url(), 'GET', '/v1/account', { token: other.token })
  assert.deepEqual([shown['requests_per_minute'], shown['tokens_per_minute'], shown['parallel']], [3, 100_000, 9])
  await until('the limit holds', async () => {
    const reply = await ask(keys[0])
    return reply.headers.get('x-ratelimit-limit-requests') === '3'
  })
  await until('it is used up', async () => (await ask(keys[1], {}, 1)).status === 429)
  const reply = await untilRead(
    'it is for the other key',
    () => ask(keys[0]),
    ({ status }) => status === 429,
  )
  const seconds = refused(reply, /The account has used its 3 requests a minute/)
  assert.ok(seconds > 1 && seconds <= 62, `${seconds}`)
  assert.deepEqual([limitOf(reply)[0], limitOf(reply)[2]], ['3', '0'])
  await stack.cli('account', 'update', other.accountId, '--rpm', '0', '--tpm', '0', '--parallel', '0')
  await until('the limit is gone', async () => (await ask(keys[1])).status === 200)
})

test('a platform key shares its limits with its sub-keys, which cannot have more', async () => {
  const platform = await newKey({ platform: true, parallel: 1, tokens_per_minute: 50_000 })
  const make = (body: Json) => api<Key>(url(), 'POST', '/v1/platform/keys', { token: platform.api_key, body })
  assertRefused(await make({ parallel: 2 }), 400, null)
  assertRefused(await make({ tokens_per_minute: 50_001 }), 400, null)
  const subs = [(await make({})).body, (await make({ tokens_per_minute: 1_000 })).body] as const
  provider.holds = true
  const open = ask(subs[0])
  await until('it is at the provider', async () => provider.waiting === 1)
  refused(await ask(subs[1], {}, 1), /The platform key has used its 1 requests in flight/)
  refused(await ask(platform, {}, 1), /has used its 1 requests in flight/)
  provider.release()
  completion(await open)
  await until('the permit is back', async () => (await ask(subs[1], {}, 1)).status === 200)
})

test("a model's limits are each account's own", async () => {
  const key = await newKey({})
  for (let i = 0; i < 3; i++) completion(await ask(key, { model: 'test/limited' }, i))
  refused(await ask(key, { model: 'test/limited' }), /The account on this model has used its 3 requests a minute/)
  completion(await ask(key))
  const other = await newOwner(stack)
  const reply = await ask(await newKey({}, other), { model: 'test/limited' })
  completion(reply)
  assert.deepEqual([limitOf(reply)[0], limitOf(reply)[2]], ['3', '2'])
})

test("a key's own rate is told with each answer, and with the refusal", async () => {
  const key = await newKey({ requests_per_minute: 2 })
  const replies = [await ask(key), await ask(key), await ask(key)]
  assert.deepEqual(
    replies.map(({ status }) => status),
    [200, 200, 429],
  )
  assert.deepEqual(
    replies.map((reply) => [limitOf(reply)[0], limitOf(reply)[2], limitOf(reply)[1]]),
    [
      ['2', '1', null],
      ['2', '0', null],
      ['2', '0', null],
    ],
  )
  assert.deepEqual(limitOf(replies[0] as Reply)[4], '30s')
})

test('a stream has the headers of limits', async () => {
  const key = await newKey({ parallel: 100, requests_per_minute: 50 })
  const reply = await ask(key, { stream: true })
  assert.deepEqual([limitOf(reply)[0], limitOf(reply)[2], limitOf(reply)[4]], ['50', '49', '1m2s'])
})

test('1,000 concurrent requests never exceed their tokens in any minute, by their receipts', async () => {
  const limit = 900
  const key = await newKey({ tokens_per_minute: limit })
  const before = known.served
  const untilMs = Date.now() + rounds({ short: 0, long: 130_000 })
  let replies: Reply[] = []
  do {
    // A kept connection may have been closed while this process was too busy to see it, so that an SDK would ask again. There may
    // be several such connections.
    const each = (i: number, attempt = 1): Promise<Reply> =>
      ask(key, {}, i).catch((error: unknown) => (attempt < 5 ? each(i, attempt + 1) : Promise.reject(error)))
    replies = await Promise.all(Array.from({ length: 1_000 }, (_, i) => each(i)))
    for (const reply of replies) if (reply.status !== 200) refused(reply, /tokens a minute/)
  } while (Date.now() < untilMs)
  await stack.settled()
  const rows = await receiptsOf(key.id)
  assert.equal(rows.length, known.served - before)
  // As many as their worst cases let in, together.
  assert.ok(rows.length >= 20, `${rows.length}`)
  for (const { atMs } of rows) {
    const within = rows.filter((row) => row.atMs <= atMs && row.atMs > atMs - MINUTE_MS)
    const tokens = within.reduce((sum, row) => sum + row.tokens, 0)
    assert.ok(tokens <= limit, `${tokens} tokens in the minute to ${new Date(atMs).toISOString()}`)
  }
})

async function receiptsOf(keyId: string): Promise<{ atMs: number; tokens: number }[]> {
  const pool = createPool(stack.databaseUrl, limits)
  try {
    const found = await pool.query<{ at: number; tokens: number }>(
      `SELECT held_at_ms AS at, input_tokens + cached_input_tokens + cache_write_5m_tokens + cache_write_1h_tokens
         + output_tokens AS tokens FROM receipts WHERE key_id = $1 AND NOT voided`,
      [keyId],
    )
    return found.rows.map(({ at, tokens }) => ({ atMs: at, tokens }))
  } finally {
    await pool.end()
  }
}

test('the book is right after all of this', () => stack.audit())
