// Goal: nobody keeps the account API busy for the others, and what cannot be read of a key lets nothing run. Method: a stack
// with small rates, addresses as a load balancer states them, and tables that are taken away.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { sluice } from '../../../contract/wire/generated/messages.js'
import { createPool } from '../../../control/runtime/db/pool.ts'
import { toPrincipal } from '../../../proxy/access/principal.ts'
import { type ApiAnswer, api, apiOk, assertRefused, newOwner, type Owner } from '../../support/clients/apiClient.ts'
import { assertError, chat, completion } from '../../support/clients/chatClient.ts'
import { limits } from '../../support/limits.ts'
import { type Stack, startStack } from '../../support/stack.ts'

let stack: Stack
let url: string
let owner: Owner

before(async () => {
  stack = await startStack({
    // Slow rates, so that none of what was used up comes back while a test goes on.
    limits: { apiRequestBurst: 30, apiRequestsPerMinute: 12, signInRequestBurst: 10, signInRequestsPerMinute: 6 },
    env: { SLUICE_TRUSTED_PROXIES: '1' },
  })
  url = stack.baseUrl
  owner = await newOwner(stack)
})

after(() => stack.finish())

const from = (address: string) => ({ headers: { 'x-forwarded-for': address } })

async function untilRefused(attempt: () => Promise<ApiAnswer>, most: number): Promise<ApiAnswer> {
  for (let i = 0; i < most; i++) {
    const answer = await attempt()
    if (answer.status === 429) return answer
  }
  return assert.fail(`${most} requests passed`)
}

test('nonces are rate limited by the client address that the trusted load balancer reports', async () => {
  const ask = (forwarded: string) => api(url, 'POST', '/v1/auth/nonce', from(forwarded))
  assertRefused(await untilRefused(() => ask('10.0.0.1'), 15), 429, 'rate_limited')
  assert.equal((await ask('10.0.0.2')).status, 200)
  assertRefused(await ask('10.0.0.2, 10.0.0.1'), 429, 'rate_limited')
  assert.equal((await ask('10.0.0.1, 10.0.0.3')).status, 200, 'what stands further in front anybody may write')
  assert.equal((await ask('nonsense')).status, 200, 'the address of the connection counts')
})

test('each account has its own rate limit', async () => {
  const read = () => api(url, 'GET', '/v1/account', { token: owner.token })
  assertRefused(await untilRefused(read, 40), 429, 'rate_limited')
  const other = await newOwner(stack)
  assert.equal((await api(url, 'GET', '/v1/account', { token: other.token })).status, 200)
  completion(await chat(url, owner.apiKey, { model: 'test/small' }))
})

test('GET /v1/limits returns the rate limits', async () => {
  const { rate_limits } = await apiOk<{
    rate_limits: { id: string; requests: number; period_seconds: number; burst: number; scope: string }[]
  }>(url, 'GET', '/v1/limits')
  const rates = rate_limits.map(({ id, requests, period_seconds, burst, scope }) => [
    id,
    requests,
    period_seconds,
    burst,
    scope,
  ])
  assert.deepEqual(rates.slice(1), [
    ['account_api', 12, 60, 30, 'account'],
    ['public_reads', 12, 60, 30, 'client network'],
    ['sign_in', 6, 60, 10, 'client network'],
    ['refused_credentials', 6, 60, 10, 'client network'],
    ['wrong_signatures', 10, 60, 10, 'client network and wallet'],
    ['provider_checks', 10, 60, 10, 'account'],
    ['refused_payments', 300, 60, 100, 'client network'],
    ['refused_payments_overall', 1_200, 60, 400, 'gateway'],
    ['referral_attaches', 5, 86_400, 5, 'client network'],
  ])
})

test('requests of a key whose account settings cannot be read are rejected until they can be read', async () => {
  const { apiKey } = await stack.createAccount()
  const pool = createPool(stack.databaseUrl, limits)
  await pool.query('ALTER TABLE account_settings RENAME TO settings_away')
  assertError(await chat(url, apiKey, { model: 'test/small' }), 503, 'settings_unavailable')
  await pool.query('ALTER TABLE settings_away RENAME TO account_settings')
  await pool.query('ALTER TABLE api_keys RENAME TO keys_away')
  assertError(await chat(url, apiKey, { model: 'test/small' }), 503, 'policy_unavailable')
  await pool.query('ALTER TABLE keys_away RENAME TO api_keys')
  await pool.end()
  completion(await chat(url, apiKey, { model: 'test/small' }))
})

test('a key record without privacy flags is rejected', () => {
  const record = (fields: Partial<sluice.IKeyRecord>) =>
    sluice.KeyRecord.decode(sluice.KeyRecord.encode(fields).finish())
  const whole = { keyId: 'key_1', accountId: 'acct_1', privacyKnown: true, settingsKnown: true, tools: ['web.search'] }
  const principal = toPrincipal(record(whole), limits)
  assert.deepEqual([principal.tools?.has('web.search'), principal.allowRetention], [true, false])
  const unknown = record({ ...whole, privacyKnown: false })
  assert.throws(() => toPrincipal(unknown, limits), { code: 'key_privacy_unavailable', status: 503 })
})

test('a cap of a span that the proxy does not know rejects the key, as it could not count it', () => {
  const principalOf = (caps: sluice.ICap[]) =>
    toPrincipal(sluice.KeyRecord.create({ keyId: 'key_1', privacyKnown: true, settingsKnown: true, caps }), limits)
  const { caps } = principalOf([
    { span: 'life', units: 0 },
    { span: 'day', units: 5 },
  ])
  assert.deepEqual(caps.texts.slice(0, 4), ['', '5', '', '0'])
  assert.throws(() => principalOf([{ span: 'decade', units: 5 }]), { code: 'settings_unavailable', status: 503 })
})
