// Goal: coin goes through a link to exactly one account, or back, and is never spendable twice. Method: a whole stack,
// sessions of several accounts over HTTP; every test ends with the audit, which compares Redis with the book.

import assert from 'node:assert/strict'
import { after, afterEach, before, test } from 'node:test'
import { hashSecret } from '../../../contract/wire/ids.ts'
import { createPool } from '../../../control/runtime/db/pool.ts'
import { api, apiOk, assertRefused, type Json, newOwner, type Owner } from '../../support/clients/apiClient.ts'
import { assertError, chat, completion } from '../../support/clients/chatClient.ts'
import { limits } from '../../support/limits.ts'
import { type Stack, startStack, until } from '../../support/stack.ts'

let stack: Stack
let url: string

before(async () => {
  const rates = { apiRequestsPerMinute: 60_000, apiRequestBurst: 10_000 }
  stack = await startStack({ limits: { ...rates, linkExpiryMs: 200, linksPerAccountMax: 5 } })
  url = stack.baseUrl
})

afterEach(() => stack.audit())
after(() => stack.finish())

interface Link extends Json {
  readonly id: string
  readonly token: string
  readonly status: string
  readonly amount: { units: string; usd: string; coin: string }
}

const create = (by: Owner, body: Json) => api<Link>(url, 'POST', '/v1/links', { token: by.token, body })
const claim = (by: Owner, token: string) => api<Link>(url, 'POST', `/v1/links/${token}/claim`, { token: by.token })
const cancel = (by: Owner, id: string) => api<Link>(url, 'POST', `/v1/links/${id}/cancel`, { token: by.token })

async function made(by: Owner, amount: string, more: Json = {}): Promise<Link> {
  const answer = await create(by, { amount, ...more })
  assert.equal(answer.status, 201, answer.text)
  return answer.body
}

/** Coin of an account: in the book, and free to be held by requests. */
async function coinOf(owner: Owner): Promise<[book: string, free: string]> {
  const account = await apiOk<{ balance: { coin: string }; available: { coin: string } }>(url, 'GET', '/v1/account', {
    token: owner.token,
  })
  return [account.balance.coin, account.available.coin]
}

test('coin waits in a link, is claimed once, and can be spent immediately', async () => {
  const [giver, taker] = [await newOwner(stack, { coin: '5' }), await newOwner(stack, { coin: '1' })]
  const link = await made(giver, '2.5', { note: 'for lunch' })
  assert.match(link.id, /^lnk_/)
  assert.match(link.token, /^lt_[0-9A-Za-z]{43}$/)
  assert.deepEqual(link.amount, { units: '2500000000', usd: '2.5', coin: '2.5' })
  assert.deepEqual([link['object'], link.status, link['note'], link['ended_at']], ['link', 'open', 'for lunch', null])
  assert.deepEqual(await coinOf(giver), ['2.5', '2.5'])
  const claimed = await claim(taker, link.token)
  assert.deepEqual([claimed.status, claimed.body.status, claimed.body['note']], [200, 'claimed', 'for lunch'])
  assert.equal(claimed.body.token, undefined)
  assert.deepEqual(await coinOf(taker), ['3.5', '3.5'])
  assertRefused(await claim(taker, link.token), 410, 'link_gone')
  assertRefused(await claim(giver, link.token), 410, 'link_gone')
  assertRefused(await cancel(giver, link.id), 410, 'link_gone')
  assert.deepEqual(await coinOf(giver), ['2.5', '2.5'])
})

test('claimed coin pays for a request that was rejected before the claim', async () => {
  const [giver, taker] = [await newOwner(stack, { coin: '1' }), await newOwner(stack, { credits: '0.000001' })]
  const ask = () => chat(url, taker.apiKey, { model: 'test/small', max_tokens: 100 })
  assertError(await ask(), 402, 'insufficient_balance')
  await claim(taker, (await made(giver, '1')).token)
  completion(await ask())
  await stack.settled()
})

test('only its owner can cancel a link', async () => {
  const [giver, other] = [await newOwner(stack, { coin: '1' }), await newOwner(stack)]
  const link = await made(giver, '1')
  assertRefused(await create(giver, { amount: '0.01' }), 402, 'insufficient_balance')
  assertRefused(await cancel(other, link.id), 403, 'permission_denied')
  const cancelled = await cancel(giver, link.id)
  assert.deepEqual([cancelled.status, cancelled.body.status], [200, 'cancelled'])
  assert.deepEqual(await coinOf(giver), ['1', '1'])
  assertRefused(await cancel(giver, link.id), 410, 'link_gone')
  assertRefused(await claim(other, link.token), 410, 'link_gone')
  for (const id of ['lnk_0123456789ABCDEFGHJKMNPQRS', 'lnk_x', link.token]) {
    assertRefused(await cancel(giver, id), 404, 'link_not_found')
  }
  for (const token of [`lt_${'a'.repeat(43)}`, link.id, 'x'])
    assertRefused(await claim(giver, token), 404, 'link_not_found')
})

test('the coin of an unclaimed link returns to its account on expiry', async () => {
  const [giver, other] = [await newOwner(stack, { coin: '3' }), await newOwner(stack)]
  const link = await made(giver, '3', { expires_at: new Date(Date.now() + 15_000).toISOString() })
  assert.deepEqual(await coinOf(giver), ['0', '0'])
  await until('the coin is back', async () => (await coinOf(giver))[1] === '3')
  assertRefused(await claim(other, link.token), 410, 'link_gone')
  assertRefused(await cancel(giver, link.id), 410, 'link_gone')
  const { data } = await apiOk<{ data: Link[] }>(url, 'GET', '/v1/links', { token: giver.token })
  assert.deepEqual(
    data.map(({ id, status }) => [id, status]),
    [[link.id, 'expired']],
  )
  const trail = await apiOk<{ data: Json[] }>(url, 'GET', '/v1/account/activity', { token: giver.token })
  assert.deepEqual(
    trail.data.slice(0, 2).map(({ type, actor }) => [type, (actor as Json)['type']]),
    [
      ['link.expired', 'gateway'],
      ['link.created', 'wallet'],
    ],
  )
})

test('of 200 concurrent claims one succeeds', async () => {
  const giver = await newOwner(stack, { coin: '1' })
  const takers = [await newOwner(stack, { coin: '1' }), await newOwner(stack, { coin: '1' })] as const
  const { token } = await made(giver, '1')
  const answers = await Promise.all(Array.from({ length: 200 }, (_, i) => claim(takers[i % 2] ?? giver, token)))
  const winners = answers.flatMap((answer, i) => (answer.status === 200 ? [i % 2] : []))
  assert.equal(winners.length, 1)
  for (const answer of answers) {
    // On a slow machine some of so many may be told to come back; they have changed nothing.
    if (answer.status === 503) assertRefused(answer, 503, 'admission_unavailable')
    else if (answer.status !== 200) assertRefused(answer, 410, 'link_gone')
  }
  const balances = await Promise.all(takers.map(coinOf))
  assert.deepEqual(
    balances,
    winners[0] === 0
      ? [
          ['2', '2'],
          ['1', '1'],
        ]
      : [
          ['1', '1'],
          ['2', '2'],
        ],
  )
})

test('many concurrent links never take more coin than the balance', async () => {
  const giver = await newOwner(stack, { coin: '1' })
  const answers = await Promise.all(Array.from({ length: 20 }, () => create(giver, { amount: '0.3' })))
  assert.equal(answers.filter(({ status }) => status === 201).length, 3)
  for (const answer of answers) {
    if (answer.status === 201) continue
    assertRefused(answer, 402, 'insufficient_balance')
    assert.equal((answer.body as unknown as { error: { type: string } }).error.type, 'insufficient_balance')
  }
  assert.deepEqual(await coinOf(giver), ['0.1', '0.1'])
})

test('a concurrent claim and cancel: exactly one of them gets the coin', async () => {
  const [giver, taker] = [await newOwner(stack, { coin: '1' }), await newOwner(stack, { coin: '1' })]
  for (let round = 0; round < 5; round++) {
    const link = await made(giver, '0.1')
    const [claimed, cancelled] = await Promise.all([claim(taker, link.token), cancel(giver, link.id)])
    assert.deepEqual([claimed.status, cancelled.status].sort(), [200, 410])
  }
  const [[given], [taken]] = [await coinOf(giver), await coinOf(taker)]
  assert.equal(Number(given) + Number(taken), 2)
})

test('a retry with the same Idempotency-Key creates one link and does not return the token again', async () => {
  const giver = await newOwner(stack, { coin: '1' })
  const send = (amount: string) => {
    return api<Link>(url, 'POST', '/v1/links', {
      token: giver.token,
      body: { amount },
      headers: { 'idempotency-key': 'one' },
    })
  }
  const answers = await Promise.all(Array.from({ length: 10 }, () => send('0.7')))
  assert.equal(new Set(answers.map(({ body }) => body.id)).size, 1)
  assert.equal(answers.filter(({ body }) => body.token !== null).length, 1)
  assertRefused(await send('0.2'), 409, 'idempotency_conflict')
  assert.deepEqual(await coinOf(giver), ['0.3', '0.3'])
})

test('a malformed Idempotency-Key is rejected, not ignored', async () => {
  const giver = await newOwner(stack, { coin: '1' })
  for (const key of ['', '\u00e9', '\u00e9\u00fc', 'two words', 'x'.repeat(256)]) {
    const headers = { 'idempotency-key': key }
    const answer = await api(url, 'POST', '/v1/links', { token: giver.token, body: { amount: '0.1' }, headers })
    assertRefused(answer, 400, null, 'Idempotency-Key')
  }
  assert.deepEqual(await coinOf(giver), ['1', '1'])
})

test('an invalid link request is rejected with the field', async () => {
  const giver = await newOwner(stack, { coin: '9' })
  for (const [body, code, param] of [
    [{}, null, 'amount'],
    [{ amount: 1 }, null, 'amount'],
    [{ amount: '-1' }, null, 'amount'],
    [{ amount: '1e3' }, null, 'amount'],
    [{ amount: '0' }, null, 'amount'],
    [{ amount: '0.009999999' }, 'below_minimum', 'amount'],
    [{ amount: '99999999999' }, null, 'amount'],
    [{ amount: '1', expires_at: '2020-01-01T00:00:00Z' }, null, 'expires_at'],
    [{ amount: '1', expires_at: '2999-01-01T00:00:00Z' }, null, 'expires_at'],
    [{ amount: '1', expires_at: 'soon' }, null, 'expires_at'],
    [{ amount: '1', note: 'x'.repeat(201) }, null, 'note'],
    [{ amount: '1', note: 'half of a pair: \udc00' }, null, 'note'],
    [{ amount: '1', to: 'me' }, null, 'to'],
  ] as const) {
    assertRefused(await create(giver, body), 400, code, param)
  }
  for (let i = 0; i < 5; i++) await made(giver, '0.01')
  assertRefused(await create(giver, { amount: '0.01' }), 400, null)
  assert.deepEqual(await coinOf(giver), ['8.95', '8.95'])
})

test('the token of a link is not stored in the database', async () => {
  const giver = await newOwner(stack, { coin: '1' })
  const { token } = await made(giver, '1')
  const pool = createPool(stack.databaseUrl, limits)
  try {
    const tables = await pool.query<{ name: string }>(
      `SELECT table_name AS name FROM information_schema.tables WHERE table_schema = 'public' AND table_type = 'BASE TABLE'`,
    )
    for (const { name } of tables.rows) {
      const found = await pool.query(`SELECT 1 FROM "${name}" AS t WHERE t::text LIKE $1`, [`%${token.slice(3)}%`])
      assert.equal(found.rowCount, 0, `the token stands in ${name}`)
    }
    const kept = await pool.query('SELECT 1 FROM links WHERE token_hash = $1', [hashSecret(token)])
    assert.equal(kept.rowCount, 1)
  } finally {
    await pool.end()
  }
  assert.ok(!stack.logs().includes(token.slice(3)))
})
