// Goal: no secret stands anywhere but in the answer that shows it once. Method: everything that makes or takes a secret is
// done against a stack that logs all it can; then its logs, its database, its Redis and the file that Redis appends all its
// writes to are searched.

import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { hashSecret, newSecret } from '../../../contract/wire/ids.ts'
import { createPool } from '../../../control/runtime/db/pool.ts'
import { api, apiOk, newOwner, newWallet, signedMessage, signIn } from '../../support/clients/apiClient.ts'
import { chat } from '../../support/clients/chatClient.ts'
import { limits } from '../../support/limits.ts'
import { type Stack, startStack } from '../../support/stack.ts'

/** Everything secret that a session of work with the gateway brings forth. */
async function work(stack: Stack): Promise<Map<string, string>> {
  const url = stack.baseUrl
  const secrets = new Map<string, string>()
  const owner = await newOwner(stack, { coin: '1', credits: '1' })
  secrets.set('first key', owner.apiKey).set('session', owner.token)
  // Whoever could write to the bus would be taken for the session by its hash.
  secrets.set('hash of the session', hashSecret(owner.token))
  const { token } = owner
  const made = await api<{ api_key: string; id: string }>(url, 'POST', '/v1/account/keys', {
    token,
    body: { name: 'app' },
    headers: { 'idempotency-key': 'once' },
  })
  secrets.set('second key', made.body.api_key)
  await api(url, 'PATCH', `/v1/account/keys/${made.body.id}`, { token, body: { paused: true } })
  await chat(url, made.body.api_key, { model: 'test/small' })
  const code = await stack.cli('wallet', 'code', (await stack.createAccount()).accountId)
  const unlinked = await signIn(url, newWallet())
  secrets.set('code', (code.json as { code: string }).code).set('unlinked session', unlinked)
  await api(url, 'POST', '/v1/auth/link', { token: unlinked, body: { code: `${secrets.get('code')}` } })
  await api(url, 'POST', '/v1/auth/link', { token: unlinked, body: { code: `${secrets.get('code')}` } })
  const proof = await signedMessage(url, newWallet())
  secrets.set('signature', proof.signature)
  await apiOk(url, 'POST', '/v1/auth/verify', { body: proof })
  await api(url, 'POST', '/v1/auth/verify', { body: proof })
  const link = await apiOk<{ token: string }>(url, 'POST', '/v1/links', { token, body: { amount: '0.5' } })
  secrets.set('link', link.token)
  await apiOk(url, 'POST', `/v1/links/${link.token}/claim`, { token, body: {} })
  await api(url, 'POST', `/v1/links/${link.token}/claim`, { token, body: {} })
  await apiOk(url, 'POST', '/v1/agents', { token, body: { slug: 'an-agent' } })
  const agent = await apiOk<{ api_key: string }>(url, 'POST', '/v1/agents/an-agent/key', { token })
  secrets.set('key of an agent', agent.api_key)
  await chat(url, agent.api_key, { model: 'test/small' })
  const platform = await apiOk<{ api_key: string }>(url, 'POST', '/v1/account/keys', {
    token,
    body: { platform: true },
  })
  const sub = await apiOk<{ api_key: string }>(url, 'POST', '/v1/platform/keys', { token: platform.api_key, body: {} })
  secrets.set('platform key', platform.api_key).set('sub-key', sub.api_key)
  await chat(url, sub.api_key, { model: 'test/small' })
  secrets.set('key of a provider', newSecret('sk'))
  const provider = { name: 'p', base_url: 'https://127.0.0.1/v1', api_key: secrets.get('key of a provider') }
  await api(url, 'POST', '/v1/providers', { token, body: provider })
  // An error inside control, which is logged with what it knows.
  const pool = createPool(stack.databaseUrl, limits)
  await pool.query('ALTER TABLE activity RENAME TO activity_away')
  const failed = await api(url, 'POST', '/v1/account/keys', { token, body: { name: 'x' } })
  assert.equal(failed.status, 500, failed.text)
  await pool.query('ALTER TABLE activity_away RENAME TO activity')
  await pool.end()
  await api(url, 'DELETE', '/v1/auth/session', { token })
  await api(url, 'GET', '/v1/account', { token })
  return secrets
}

async function databaseText(url: string): Promise<string> {
  const pool = createPool(url, limits)
  const tables = await pool.query<{ name: string }>(
    `SELECT table_name AS name FROM information_schema.tables WHERE table_schema = 'public' AND table_type = 'BASE TABLE'`,
  )
  let text = ''
  for (const { name } of tables.rows) {
    const rows = await pool.query<{ row: string }>(`SELECT t::text AS row FROM ${name} AS t`)
    text += rows.rows.map(({ row }) => row).join('\n')
  }
  await pool.end()
  return text
}

function redisText(stack: Stack): Promise<string> {
  return stack.withRedis(async (redis) => {
    let text = ''
    for (const key of await redis.keys('*')) text += `${key} ${(await redis.dumpBuffer(key))?.toString('latin1')}\n`
    return text
  })
}

/** All that Redis was ever told to write: also what was deleted since. */
async function appendOnlyText(stack: Stack): Promise<string> {
  const dir = await stack.withRedis(async (redis) => (await redis.config('GET', 'dir')) as [string, string])
  const folder = join(dir[1], 'appendonlydir')
  return readdirSync(folder)
    .map((name) => readFileSync(join(folder, name), 'latin1'))
    .join('\n')
}

test('no secret is in a log, in the database or in Redis', async (t) => {
  const stack = await startStack({ env: { LOG_LEVEL: 'trace' } })
  t.after(() => stack.finish())
  const secrets = await work(stack)
  assert.equal(secrets.size, 12)
  // Of the gateway; the mock provider is the other side.
  const logs = readdirSync(stack.dir).filter((name) => name.endsWith('.log') && name !== 'provider.log')
  assert.ok(logs.includes('control.log') && logs.includes('proxy.log'))
  const places = new Map(logs.map((name) => [name, readFileSync(join(stack.dir, name), 'utf8')]))
  places.set('redis', await redisText(stack)).set('append-only file', await appendOnlyText(stack))
  assert.match(places.get('append-only file') ?? '', /rpc:api/, 'the calls were written')
  for (const [place, text] of places) assert.ok(!text.includes(`${secrets.get('hash of the session')}`), place)
  secrets.delete('hash of the session')
  places.set('database', await databaseText(stack.databaseUrl))
  assert.match(places.get('control.log') ?? '', /rpc_call_failed/)
  for (const [place, text] of places) {
    assert.ok(text.length > 0, `${place} is empty`)
    for (const [name, secret] of secrets) {
      assert.ok(secret.length > 20, name)
      assert.ok(!text.includes(secret.slice(3)), `the ${name} is in ${place}`)
    }
  }
})
