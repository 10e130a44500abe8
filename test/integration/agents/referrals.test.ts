// Goal: who brings an account gets its share of the coin that the account is charged, once, to the unit, and nothing else
// is paid. Method: a whole stack, accounts over HTTP; every test ends with the audit, which counts all receipts again.

import assert from 'node:assert/strict'
import { after, afterEach, before, test } from 'node:test'
import { createPool, type Pool } from '../../../control/runtime/db/pool.ts'
import { api, apiOk, assertRefused, type Json, newOwner, type Owner } from '../../support/clients/apiClient.ts'
import { assertError, chat, completion } from '../../support/clients/chatClient.ts'
import { limits } from '../../support/limits.ts'
import { type Stack, startStack, until } from '../../support/stack.ts'

const M = 'test/small'

let stack: Stack
let url: string
let pool: Pool
let networks = 0

before(async () => {
  const rates = { apiRequestsPerMinute: 60_000, apiRequestBurst: 10_000, signInRequestsPerMinute: 60_000 }
  const changes = {
    ...rates,
    signInRequestBurst: 10_000,
    referralPayMs: 100,
    referralBatchMax: 7,
    referralAttachesMax: 3,
  }
  stack = await startStack({
    workers: 2,
    catalog: { models: [{ id: M }] },
    limits: changes,
    env: { SLUICE_TRUSTED_PROXIES: '1' },
  })
  url = stack.baseUrl
  pool = createPool(stack.databaseUrl, limits)
})

afterEach(async () => {
  await stack.settled()
  await counted()
  await stack.audit()
})
after(async () => {
  await pool.end()
  await stack.finish()
})

interface Referrals {
  readonly code: string
  readonly referred: number
  readonly earned: { units: string; coin: string }
  readonly referred_at: string | null
  readonly data: { id: string; earned: { units: string } }[]
  readonly has_more: boolean
}

const referrals = (token: string, query = '') => apiOk<Referrals>(url, 'GET', `/v1/referrals${query}`, { token })
const attach = (by: Owner, code: string, address = `203.0.${networks >> 8}.${networks++ & 255}`) =>
  api<Json>(url, 'POST', '/v1/referrals', { token: by.token, body: { code }, headers: { 'x-forwarded-for': address } })

async function attached(by: Owner, referrer: Owner): Promise<void> {
  const answer = await attach(by, (await referrals(referrer.token)).code)
  assert.equal(answer.status, 201, answer.text)
}

async function number(sql: string, values: unknown[] = []): Promise<number> {
  const found = await pool.query<{ n: number | null }>(`SELECT (${sql}) AS n`, values)
  return found.rows[0]?.n ?? 0
}

/** Waits until every receipt that is booked has been counted. */
const counted = () =>
  until('all receipts are counted', async () => {
    return (
      (await number('SELECT sum(h.size - c.position) FROM usage_log_heads h JOIN referral_cursors c USING (log)')) === 0
    )
  })

const ask = async (key: string) => completion(await chat(url, key, { model: M, max_tokens: 10 }))
/** Asks until control is there to tell what it has to. */
async function askAgain(key: string): Promise<void> {
  for (;;) {
    const reply = await chat(url, key, { model: M, max_tokens: 10 })
    if (reply.status !== 503) return void completion(reply)
    assertError(reply, 503, 'policy_unavailable')
  }
}
const coinCharges = (accountId: string) =>
  number(`SELECT sum(units) FROM transfers WHERE kind = 'charge' AND debit = 'coin:' || $1`, [accountId])
const coinOf = (accountId: string) =>
  number(`SELECT balance FROM ledger_accounts WHERE id = 'coin:' || $1`, [accountId])

async function earnedUnits(owner: Owner): Promise<number> {
  await stack.settled()
  await counted()
  return Number((await referrals(owner.token)).earned.units)
}

test('a share of each coin charge is paid to the referrer out of revenue', async () => {
  const [referrer, referred] = [await newOwner(stack, { credits: '1' }), await newOwner(stack, { coin: '1' })]
  await ask(referred.apiKey)
  await stack.settled()
  const before = await coinCharges(referred.accountId)
  assert.ok(before > 0)
  await attached(referred, referrer)
  for (let i = 0; i < 10; i++) await ask(referred.apiKey)
  const earned = await earnedUnits(referrer)
  const charged = (await coinCharges(referred.accountId)) - before
  assert.equal(earned, Math.floor((charged * 5) / 100), 'what was charged before does not count')
  assert.ok(earned > 0)
  assert.equal(await coinOf(referrer.accountId), earned)
  const paid = `SELECT sum(units) FROM transfers WHERE kind = 'referral' AND debit = 'revenue' AND credit = 'coin:' || $1`
  assert.equal(await number(paid, [referrer.accountId]), earned)
  const seen = await referrals(referrer.apiKey)
  assert.deepEqual([seen.referred, seen.data.length, seen.data[0]?.earned.units], [1, 1, String(earned)])
  assert.match((await referrals(referred.token)).referred_at ?? '', /^20/)
  await until('it can be spent', async () => {
    const account = await apiOk<{ available: { coin: string } }>(url, 'GET', '/v1/account', { token: referrer.token })
    return Math.round(Number(account.available.coin) * 1e9) === earned
  })
})

test('credits earn no reward, and spending of an agent counts for its owner', async () => {
  const [referrer, referred] = [await newOwner(stack, { credits: '1' }), await newOwner(stack, { credits: '1' })]
  await attached(referred, referrer)
  await ask(referred.apiKey)
  assert.equal(await earnedUnits(referrer), 0)
  const funded = await newOwner(stack, { coin: '1' })
  await attached(funded, referrer)
  await apiOk(url, 'POST', '/v1/agents', { token: funded.token, body: { slug: 'spender' } })
  const issued = await apiOk<{ id: string; api_key: string }>(url, 'POST', '/v1/agents/spender/key', {
    token: funded.token,
  })
  await apiOk(url, 'POST', '/v1/agents/spender/fund', { token: funded.token, body: { amount: '0.5' } })
  for (let i = 0; i < 3; i++) await ask(issued.api_key)
  const earned = await earnedUnits(referrer)
  const agentCharges = await number(
    `SELECT sum(t.units) FROM transfers t JOIN agents a ON t.debit = 'coin:' || a.id
     WHERE t.kind = 'charge' AND a.owner_id = $1`,
    [funded.accountId],
  )
  assert.ok(agentCharges > 0)
  assert.equal(earned, Math.floor((agentCharges * 5) / 100))
  assertRefused(await api(url, 'GET', '/v1/referrals', { token: issued.api_key }), 403, 'permission_denied')
})

test('an account has one referrer, which must be another account with an existing code', async () => {
  const [one, two, three] = [await newOwner(stack), await newOwner(stack), await newOwner(stack)]
  const { code } = await referrals(one.token)
  assert.match(code, /^[0-9A-HJKMNP-TV-Z]{8}$/)
  assert.equal((await referrals(one.apiKey)).code, code, 'it stays')
  assertRefused(await attach(one, code), 400, null, 'code')
  const missing = `${code.slice(0, -1)}${code.endsWith('0') ? '1' : '0'}`
  assertRefused(await attach(two, missing), 404, 'code_not_found', 'code')
  assertRefused(await attach(two, 'nonsense!'), 400, null, 'code')
  assertRefused(await attach(two, ''), 400, null, 'code')
  assertRefused(await api(url, 'POST', '/v1/referrals', { token: two.apiKey, body: { code } }), 403, 'wrong_credential')
  assert.equal((await attach(two, code.toLowerCase())).status, 201)
  assertRefused(await attach(two, code), 409, 'already_referred')
  assertRefused(await attach(two, (await referrals(three.token)).code), 409, 'already_referred')
  const all = await Promise.all(
    Array.from({ length: 20 }, async (_, i) => attach(three, (await referrals((i % 2 ? one : two).token)).code)),
  )
  assert.deepEqual(all.map(({ status }) => status).sort(), [201, ...Array<number>(19).fill(409)])
  const activity = await apiOk<{ data: { type: string }[] }>(url, 'GET', '/v1/account/activity', { token: one.token })
  assert.ok(activity.data.some(({ type }) => type === 'referral.gained'))
})

test('two accounts cannot refer each other, even concurrently', async () => {
  for (let round = 0; round < 5; round++) {
    const [one, two] = [await newOwner(stack), await newOwner(stack)]
    const codes = [(await referrals(one.token)).code, (await referrals(two.token)).code] as const
    const both = await Promise.all([attach(one, codes[1]), attach(two, codes[0])])
    assert.deepEqual(both.map(({ status }) => status).sort(), [201, 400])
    assertRefused(both.find(({ status }) => status === 400) ?? assert.fail(), 400, null, 'code')
  }
})

test('the list of referrals is paginated, and names no account', async () => {
  const referrer = await newOwner(stack)
  const brought: Owner[] = []
  for (let i = 0; i < 3; i++) {
    const owner = await newOwner(stack)
    await attached(owner, referrer)
    brought.push(owner)
  }
  const first = await referrals(referrer.token, '?limit=2')
  assert.deepEqual([first.data.length, first.has_more, first.referred], [2, true, 3])
  const rest = await referrals(referrer.token, `?limit=2&after=${first.data[1]?.id}`)
  assert.deepEqual([rest.data.length, rest.has_more], [1, false])
  assert.equal(new Set([...first.data, ...rest.data].map(({ id }) => id)).size, 3)
  for (const { accountId } of brought) assert.ok(!JSON.stringify([first, rest]).includes(accountId))
})

test('too many accounts from one network are rejected, also concurrently', async () => {
  const referrer = await newOwner(stack)
  const { code } = await referrals(referrer.token)
  const owners = await Promise.all(Array.from({ length: 8 }, () => newOwner(stack)))
  const answers = await Promise.all(owners.map((owner, i) => attach(owner, code, `2001:db8:77:1::${i + 1}`)))
  assert.equal(answers.filter(({ status }) => status === 201).length, 3)
  for (const answer of answers) if (answer.status !== 201) assertRefused(answer, 429, 'attach_velocity')
  const refused = answers.findIndex(({ status }) => status !== 201)
  const owner = owners[refused] ?? assert.fail()
  assert.ok(Number(answers[refused]?.headers.get('retry-after')) > 86_000)
  assert.equal((await attach(owner, code, '2001:db8:77:2::1')).status, 201, 'another network is another one')
})

test('rewards are neither counted twice nor missed while accounts attach and control is killed', async () => {
  const referrers = [await newOwner(stack), await newOwner(stack)]
  const codes = await Promise.all(referrers.map(async ({ token }) => (await referrals(token)).code))
  const owners = await Promise.all(Array.from({ length: 6 }, () => newOwner(stack, { coin: '1' })))
  const traffic = owners.map(async ({ apiKey }) => {
    for (let i = 0; i < 25; i++) await askAgain(apiKey)
  })
  for (const [i, owner] of owners.entries()) {
    const answer = await attach(owner, codes[i % 2] ?? '')
    assert.equal(answer.status, 201, answer.text)
  }
  for (let round = 0; round < 2; round++) {
    await stack.control.kill9()
    await stack.control.start()
  }
  await Promise.all(traffic)
  const earned = (await earnedUnits(referrers[0] ?? assert.fail())) + (await earnedUnits(referrers[1] ?? assert.fail()))
  assert.ok(earned > 0)
})
