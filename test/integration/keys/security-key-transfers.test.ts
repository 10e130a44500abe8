// Goal: whoever has stolen an API key cannot empty the account: what keys pay to other accounts is bounded by a cap of the
// day, also when many payments run at once, and a key can be made without the right to move coin. Method: a whole stack
// with two proxy processes; a thief's account with an agent; every test ends with the audit.

import assert from 'node:assert/strict'
import { after, afterEach, before, test } from 'node:test'
import { createPool } from '../../../control/runtime/db/pool.ts'
import { api, apiOk, assertRefused, type Json, newOwner, type Owner } from '../../support/clients/apiClient.ts'
import { limits } from '../../support/limits.ts'
import { type Stack, startStack } from '../../support/stack.ts'

const THIEF = 'thief-agent'

let stack: Stack
let url: string
let names = 0

before(async () => {
  stack = await startStack({ workers: 2, limits: { apiRequestsPerMinute: 600_000, apiRequestBurst: 100_000 } })
  url = stack.baseUrl
  const thief = await newOwner(stack)
  await apiOk(url, 'POST', '/v1/agents', { token: thief.token, body: { slug: THIEF } })
})

afterEach(async () => {
  await stack.settled()
  await stack.audit()
})
after(() => stack.finish())

const post = (path: string, token: string, body: Json = {}) => api(url, 'POST', path, { token, body })
const fund = (slug: string, amount: string, token: string) => post(`/v1/agents/${slug}/fund`, token, { amount })
const pay = (slug: string, token: string, amount: string, to = THIEF) =>
  post(`/v1/agents/${slug}/pay`, token, { to, amount })
const patchAccount = (token: string, body: Json) => api(url, 'PATCH', '/v1/account', { token, body })

async function newAgent(token: string): Promise<string> {
  const slug = `agent-${++names}`
  await apiOk(url, 'POST', '/v1/agents', { token, body: { slug } })
  return slug
}

/** An owner with an agent that has coin, and the agent's own key. */
async function fundedOwner(coin: string): Promise<{ owner: Owner; slug: string; agentKey: string }> {
  const owner = await newOwner(stack, { coin })
  const slug = await newAgent(owner.token)
  assert.equal((await fund(slug, coin, owner.token)).status, 201)
  const { api_key } = await apiOk<{ api_key: string }>(url, 'POST', `/v1/agents/${slug}/key`, { token: owner.token })
  return { owner, slug, agentKey: api_key }
}

async function newKey(owner: Owner, settings: Json): Promise<{ id: string; api_key: string }> {
  return apiOk(url, 'POST', '/v1/account/keys', { token: owner.token, body: settings })
}

async function transfers({ token }: Owner): Promise<unknown[]> {
  const account = await apiOk(url, 'GET', '/v1/account', { token })
  return [account['transfer_cap_day'], account['transferred_today']]
}

test('a plain key moves no more than its daily cap out of the account, by all agents and keys together', async () => {
  const owner = await newOwner(stack, { coin: '25' })
  const [one, two] = [await newAgent(owner.apiKey), await newAgent(owner.apiKey)]
  assert.equal((await fund(one, '20', owner.apiKey)).status, 201, 'coin for own agents stays within reach')
  assert.equal((await fund(two, '5', owner.apiKey)).status, 201)
  assertRefused(await pay(one, owner.apiKey, '10.000000001'), 402, 'spend_limit_exceeded', 'amount')
  assert.equal((await pay(one, owner.apiKey, '7')).status, 201)
  const { api_key: agentKey } = await apiOk<Json>(url, 'POST', `/v1/agents/${two}/key`, { token: owner.apiKey })
  assert.equal((await pay(two, String(agentKey), '2')).status, 201)
  const refused = await pay(two, String(agentKey), '1.5')
  assertRefused(refused, 402, 'spend_limit_exceeded', 'amount')
  assert.match(refused.text, /10 USD a day.* 1 are left/)
  assert.deepEqual(await transfers(owner), ['10', '9'])
  for (const to of ['owner', two]) assert.equal((await pay(one, owner.apiKey, '6', to)).status, 201)
  assert.deepEqual(await transfers(owner), ['10', '9'], 'what stays with the owner and its agents is not counted')
})

test('the cap can be changed only with a session, and counts the day (UTC)', async () => {
  const { owner, slug, agentKey } = await fundedOwner('100')
  assertRefused(await patchAccount(owner.apiKey, { transfer_cap_day: '100' }), 403, 'wrong_credential')
  assertRefused(await patchAccount(agentKey, { transfer_cap_day: '100' }), 403, 'wrong_credential')
  assertRefused(await patchAccount(owner.token, { transfer_cap_day: null }), 400, null, 'transfer_cap_day')
  assert.equal((await patchAccount(owner.token, { transfer_cap_day: '0' })).status, 200)
  assertRefused(await pay(slug, agentKey, '0.000000001'), 402, 'spend_limit_exceeded')
  assert.equal((await patchAccount(owner.token, { transfer_cap_day: '12.5' })).status, 200)
  assert.equal((await pay(slug, agentKey, '12.5')).status, 201)
  assertRefused(await pay(slug, owner.apiKey, '1'), 402, 'spend_limit_exceeded')
  assert.equal((await pay(slug, owner.token, '20')).status, 201, 'a session is not bound')
  assert.deepEqual(await transfers(owner), ['12.5', '12.5'])
  const pool = createPool(stack.databaseUrl, limits)
  await pool.query('UPDATE key_transfers SET day = day - 1 WHERE account_id = $1', [owner.accountId])
  await pool.end()
  assert.deepEqual(await transfers(owner), ['12.5', '0'])
  assert.equal((await pay(slug, agentKey, '3')).status, 201)
})

test('of many concurrent payments, as many succeed as the cap covers', async () => {
  const { owner, slug, agentKey } = await fundedOwner('100')
  const before = await transfers(owner)
  const tokens = [agentKey, owner.apiKey]
  let paid = 0
  const lanes = Array.from({ length: 40 }, async (_, lane) => {
    for (let i = 0; i < 3; i++) {
      const answer = await pay(slug, tokens[(lane + i) % 2] ?? '', '0.15')
      if (answer.status === 201) paid++
      else if (answer.status !== 503) assertRefused(answer, 402, 'spend_limit_exceeded')
    }
  })
  await Promise.all(lanes)
  assert.deepEqual(before, ['10', '0'])
  assert.equal(paid, 66)
  assert.deepEqual(await transfers(owner), ['10', '9.9'])
})

test('a payment beyond the balance does not count', async () => {
  const { owner, slug, agentKey } = await fundedOwner('1')
  assertRefused(await pay(slug, agentKey, '2'), 402, 'insufficient_balance')
  assert.deepEqual(await transfers(owner), ['10', '0'])
})

test('a key without the permission moves no coin until a session grants it', async () => {
  const { owner, slug, agentKey } = await fundedOwner('10')
  assert.equal((await pay(slug, agentKey, '5', 'owner')).status, 201)
  const bound = await newKey(owner, { can_transfer: false })
  assertRefused(await fund(slug, '1', bound.api_key), 403, 'permission_denied')
  assertRefused(await pay(slug, bound.api_key, '1'), 403, 'permission_denied')
  assertRefused(await post('/v1/agents', bound.api_key, { slug: 'made-by-bound' }), 403, 'permission_denied')
  assertRefused(await post(`/v1/agents/${slug}/key`, bound.api_key), 403, 'permission_denied')
  const path = `/v1/account/keys/${bound.id}`
  const own = { token: bound.api_key, body: { can_transfer: true } }
  assertRefused(await api(url, 'PATCH', path, own), 403, 'wrong_credential')
  await apiOk(url, 'PATCH', path, { ...own, token: owner.token })
  assert.equal((await fund(slug, '1', bound.api_key)).status, 201)
  await apiOk(url, 'PATCH', `/v1/agents/${slug}`, { token: owner.token, body: { can_transfer: false } })
  assertRefused(await pay(slug, agentKey, '1', 'owner'), 403, 'permission_denied')
})

test('transfers by a key count against its caps immediately', async () => {
  const owner = await newOwner(stack, { coin: '10' })
  const slug = await newAgent(owner.token)
  const { api_key: capped } = await newKey(owner, { caps: { day: '2' }, budget: '3' })
  const answers = await Promise.all(Array.from({ length: 30 }, () => fund(slug, '0.3', capped)))
  assert.equal(answers.filter(({ status }) => status === 201).length, 6)
  assertRefused(await fund(slug, '0.3', capped), 402, 'spend_limit_exceeded', 'amount')
})

for (const settings of [
  { requests_per_minute: 60 },
  { no_logs: true },
  { private_tier: true },
  { allow_retention: false },
]) {
  test(`a key with ${Object.keys(settings)[0]} cannot create or change agents, which would not have that bound`, async () => {
    const owner = await newOwner(stack)
    const slug = await newAgent(owner.token)
    const { api_key: key } = await newKey(owner, settings)
    assertRefused(await post('/v1/agents', key, { slug: 'without-bounds' }), 403, 'permission_denied')
    assertRefused(await post(`/v1/agents/${slug}/key`, key), 403, 'permission_denied')
    const change = { token: key, body: { paused: false } }
    assertRefused(await api(url, 'PATCH', `/v1/agents/${slug}`, change), 403, 'permission_denied')
  })
}

test('the audit finds transfers above their cap, and payments that were not counted', async () => {
  const { slug, agentKey } = await fundedOwner('10')
  assert.equal((await pay(slug, agentKey, '5')).status, 201)
  const pool = createPool(stack.databaseUrl, limits)
  const found = async () => (await stack.cli('audit')).stdout
  const paid = `key_transfers WHERE debit_id = (SELECT max(debit_id) FROM key_transfers)`
  await pool.query(`CREATE TABLE kept AS SELECT * FROM ${paid}`)
  await pool.query(`UPDATE key_transfers SET units = units + 1 WHERE debit_id = (SELECT debit_id FROM kept)`)
  assert.match(await found(), /counts 5000000001 units/)
  await pool.query(`DELETE FROM ${paid}`)
  assert.match(await found(), /paid 5000000000 units with key_\w+ and counts against no cap/)
  await pool.query('INSERT INTO key_transfers SELECT * FROM kept')
  await pool.query('DROP TABLE kept')
  await pool.end()
})
