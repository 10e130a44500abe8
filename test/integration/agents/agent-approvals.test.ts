// Goal: what an agent may not spend by itself waits for its owner, runs once when approved, and never otherwise. Method: a
// whole stack; requests of an agent above its threshold, decided over HTTP; the provider's log says what ran.
import assert from 'node:assert/strict'
import { after, afterEach, before, test } from 'node:test'
import { createPool, type Pool } from '../../../control/runtime/db/pool.ts'
import { api, apiOk, assertRefused, type Json, newOwner, type Owner } from '../../support/clients/apiClient.ts'
import { assertError, completion, type Reply } from '../../support/clients/chatClient.ts'
import { openRequest } from '../../support/journals.ts'
import { limits } from '../../support/limits.ts'
import { scalar } from '../../support/parts/ledger.ts'
import { present } from '../../support/present.ts'
import { type Stack, startStack, until } from '../../support/stack.ts'
import { childrenOf } from '../../support/workload.ts'

const M = 'test/small'
/** One with max_tokens 1,000 may cost more than this, one with 10 may not. */
const THRESHOLD = '0.001'

let stack: Stack
let pool: Pool
let url: string
let owner: Owner
let key: string
const SLUG = 'careful'

before(async () => {
  const rates = { apiRequestsPerMinute: 60_000, apiRequestBurst: 10_000 }
  const catalog = {
    models: [
      { id: M },
      { id: 'test/other' },
      { id: 'test/slow', upstream: 'slow,chunks=100,delay=20' },
      { id: 'test/broken', upstream: 'broken,status=500' },
    ],
  }
  stack = await startStack({ catalog, limits: { ...rates, approvalsPerAgentMax: 12, rpcTimeoutMs: 8_000 } })
  pool = createPool(stack.databaseUrl, limits)
  url = stack.baseUrl
  owner = await newOwner(stack, { coin: '10' })
  const body = { slug: SLUG, approval_threshold: THRESHOLD }
  await apiOk(url, 'POST', '/v1/agents', { token: owner.token, body })
  key = (await apiOk<{ api_key: string }>(url, 'POST', `/v1/agents/${SLUG}/key`, { token: owner.token })).api_key
  await apiOk(url, 'POST', `/v1/agents/${SLUG}/fund`, { token: owner.token, body: { amount: '5' } })
})

afterEach(async () => {
  await stack.settled()
  await stack.audit()
})
after(async () => {
  await pool.end()
  await stack.finish()
})

/** As if the lifetime of all that wait or are approved were over. */
const letExpire = () => pool.query(`UPDATE approvals SET expires_at = now() WHERE status IN ('pending', 'approved')`)

interface Approval extends Json {
  readonly id: string
  readonly status: string
  readonly hold: { units: string }
}

let told = 0
const large = (text = `large ${++told}`, more: Json = {}) => ({
  model: M,
  max_tokens: 1_000,
  messages: [{ role: 'user', content: text }],
  ...more,
})

async function send(body: unknown, approvalId = '', by = key): Promise<Reply> {
  const response = await fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${by}`,
      'content-type': 'application/json',
      ...(approvalId === '' ? {} : { 'x-approval-id': approvalId }),
    },
    body: JSON.stringify(body),
  })
  return { status: response.status, headers: response.headers, text: await response.text() }
}

async function waits(body: unknown): Promise<Approval> {
  const reply = await send(body)
  assert.equal(reply.status, 202, reply.text)
  return JSON.parse(reply.text) as Approval
}

const decide = (id: string, decision: string, token = owner.token) =>
  api<Approval>(url, 'POST', `/v1/agents/${SLUG}/approvals/${id}/${decision}`, { token, body: {} })
const list = async (query = '', token = owner.token) =>
  (await apiOk<{ data: Approval[] }>(url, 'GET', `/v1/agents/${SLUG}/approvals${query}`, { token })).data

const served = async () => (await stack.provider.log()).length

test('a request above the threshold waits, runs once when approved, and its approval serves no other request', async () => {
  const ran = await served()
  const body = large()
  const asked = await waits(body)
  assert.match(asked.id, /^apr_/)
  assert.deepEqual(
    [asked['type'], asked['object'], asked.status, asked['subject'], asked['agent'], asked['endpoint'], asked['model']],
    ['approval_required', 'approval', 'pending', 'request', SLUG, 'chat', M],
  )
  assert.ok(Number(asked.hold.units) > 2_000_000)
  const livesMs = Date.parse(String(asked['expires_at'])) - Date.parse(String(asked['created_at']))
  assert.equal(livesMs, limits.approvalLifetimeMs)
  assert.equal((await waits(body)).id, asked.id, 'the same request waits once')
  assert.equal(await served(), ran, 'nothing ran')
  assertError(await send(body, asked.id), 409, 'approval_pending')
  assert.deepEqual(
    (await list()).map(({ id }) => id),
    [asked.id],
  )
  assert.deepEqual(await list('', key), await list())
  const approved = await decide(asked.id, 'approve')
  assert.deepEqual([approved.status, approved.body.status], [200, 'approved'])
  assert.equal((await decide(asked.id, 'approve')).status, 200)
  assert.equal((await waits(body)).status, 'approved')
  for (const other of [
    { ...body, max_tokens: 999 },
    { ...body, model: 'test/other' },
    { ...body, temperature: 1 },
  ]) {
    assertError(await send(other, asked.id), 409, 'approval_mismatch')
  }
  const replies = await Promise.all(Array.from({ length: 20 }, () => send(body, asked.id)))
  const ok = replies.filter(({ status }) => status === 200)
  assert.equal(ok.length, 1)
  for (const reply of replies) if (reply.status !== 200) assertError(reply, 409, 'approval_used')
  const { receipt } = completion(ok[0] ?? assert.fail())
  assert.equal(receipt.hold.units, asked.hold.units)
  assert.equal(await served(), ran + 1)
  const [used] = await list('?status=used')
  assert.deepEqual([used?.id, used?.['used_by']], [asked.id, receipt.request_id])
})

test('small requests need no approval, and streams wait like others', async () => {
  completion(await send({ ...large(), max_tokens: 10 }))
  const body = large(undefined, { stream: true })
  const { id } = await waits(body)
  await decide(id, 'approve')
  const reply = await send(body, id)
  assert.equal(reply.status, 200)
  assert.ok(reply.text.trimEnd().endsWith('data: [DONE]'))
})

test('an approval can be used again after the process that ran its request died', async () => {
  const body = large(undefined, { model: 'test/slow', stream: true })
  const { id } = await waits(body)
  await decide(id, 'approve')
  await stack.provider.hold()
  const broken = send(body, id).catch(() => undefined)
  await until('its request is open', async () => (await openRequest(stack.dir)) !== undefined)
  for (const worker of childrenOf(present(stack.proxy.pid))) process.kill(worker, 'SIGKILL')
  await Promise.all([broken, stack.provider.release()])
  const status = 'SELECT status FROM receipts WHERE request_id = (SELECT used_by FROM approvals WHERE id = $1)'
  await until('it is orphaned', async () => (await scalar(pool, status, [id])) === 'orphaned')
  await until('it is served', async () => (await send(body, id).catch(() => undefined))?.status === 200)
})

test('denied and expired requests do not run', async () => {
  const ran = await served()
  const [denied, expired] = [large(), large()]
  const [{ id: deniedId }, { id: expiredId }] = [await waits(denied), await waits(expired)]
  assert.equal((await decide(deniedId, 'deny')).body.status, 'denied')
  assertRefused(await decide(deniedId, 'approve'), 409, 'approval_denied')
  assertError(await send(denied, deniedId), 403, 'approval_denied', 'x-approval-id')
  await decide(expiredId, 'approve')
  await letExpire()
  assert.ok((await list('?status=expired')).some(({ id }) => id === expiredId))
  assertError(await send(expired, expiredId), 410, 'approval_expired')
  assertRefused(await decide(expiredId, 'approve'), 409, 'approval_expired')
  assert.notEqual((await waits(expired)).id, expiredId)
  assert.equal(await served(), ran)
})

test('an approval is usable only by its agent', async () => {
  const other = await newOwner(stack, { coin: '5' })
  await apiOk(url, 'POST', '/v1/agents', {
    token: other.token,
    body: { slug: 'stranger', approval_threshold: THRESHOLD },
  })
  const issued = await apiOk<{ api_key: string }>(url, 'POST', '/v1/agents/stranger/key', { token: other.token })
  const body = large()
  const { id } = await waits(body)
  for (const token of [other.token, key]) assertRefused(await decide(id, 'approve', token), 403, 'permission_denied')
  const elsewhere = await api(url, 'POST', `/v1/agents/stranger/approvals/${id}/approve`, {
    token: other.token,
    body: {},
  })
  assertRefused(elsewhere, 404, 'approval_not_found')
  await decide(id, 'approve')
  assertError(await send(body, id, issued.api_key), 404, 'approval_not_found')
  for (const wrong of ['apr_0123456789ABCDEFGHJKMNPQRS', 'apr_x', 'yes']) {
    assertError(await send(body, wrong), 404, 'approval_not_found')
  }
  // A key that is no agent's does not look at it.
  completion(await send({ ...large(), max_tokens: 10 }, 'apr_x', owner.apiKey))
})

test('a request that was not charged returns its approval for the next attempt', async () => {
  const body = large()
  const { id } = await waits(body)
  await decide(id, 'approve')
  await api(url, 'PATCH', `/v1/agents/${SLUG}`, { token: owner.token, body: { caps: { hour: '0' } } })
  await until('the cap holds', async () => (await send(body, id)).status === 402)
  await api(url, 'PATCH', `/v1/agents/${SLUG}`, { token: owner.token, body: { caps: { hour: null } } })
  await until('it runs', async () => (await send(body, id)).status === 200)
  const broken = large(undefined, { model: 'test/broken' })
  const second = await waits(broken)
  await decide(second.id, 'approve')
  assert.equal((await send(broken, second.id)).status, 502)
  await until('it may be sent again', async () => (await send(broken, second.id)).status === 502)
})

test('a client that disconnects while its approval is being used is not served, and may retry', async () => {
  const body = large()
  const { id } = await waits(body)
  await decide(id, 'approve')
  const ran = await served()
  const pid = stack.control.pid ?? 0
  const leaving = new AbortController()
  process.kill(pid, 'SIGSTOP')
  try {
    const headers = { authorization: `Bearer ${key}`, 'x-approval-id': id }
    const init = { method: 'POST', headers, body: JSON.stringify(body), signal: leaving.signal }
    const left = fetch(`${url}/v1/chat/completions`, init).catch(() => undefined)
    await until('control is asked', async () => /^sluice_active_runs 1$/m.test(await metrics()))
    leaving.abort()
    await left
    await (await fetch(`${url}/health`)).arrayBuffer()
  } finally {
    process.kill(pid, 'SIGCONT')
  }
  await until('it has ended', async () => /^sluice_active_runs 0$/m.test(await metrics()))
  assert.equal(await served(), ran)
  await until('it may be sent again', async () => (await send(body, id)).status === 200)
})

const metrics = async () => (await fetch(stack.metricsUrl)).text()

test('an approval left usable by a dead proxy can be revoked', async () => {
  const body = large(undefined, { model: 'test/broken' })
  const { id } = await waits(body)
  await decide(id, 'approve')
  const failed = await send(body, id)
  await stack.settled()
  const usedBy = failed.headers.get('x-request-id')
  // The proxy gives the approval back, which one that died did not.
  await until('it is given back', async () => (await list('?status=approved')).some((one) => one.id === id))
  await pool.query(`UPDATE approvals SET status = 'used', used_by = $2 WHERE id = $1`, [id, usedBy])
  const { status, body: denied } = await decide(id, 'deny')
  assert.deepEqual([status, denied.status], [200, 'denied'])
  assertError(await send(body, id), 403, 'approval_denied')
})

test('a payment above the threshold also waits', async () => {
  const pay = (amount: string, headers = {}) =>
    api<Approval>(url, 'POST', `/v1/agents/${SLUG}/pay`, { token: key, body: { to: 'owner', amount }, headers })
  const once = { 'idempotency-key': 'pay-1' }
  const asked = await pay('1', once)
  assert.deepEqual([asked.status, asked.body['subject'], asked.body['to']], [202, 'payment', 'owner'])
  assert.equal(asked.body.hold.units, '1000000000')
  await decide(asked.body.id, 'approve')
  const approved = { 'x-approval-id': asked.body.id }
  assertRefused(await pay('0.9', approved), 409, 'approval_mismatch')
  const answers = await Promise.all(Array.from({ length: 10 }, () => pay('1', { ...once, ...approved })))
  assert.deepEqual([...new Set(answers.map(({ status, body }) => `${status} ${body.id}`))].length, 1)
  assert.equal(answers[0]?.status, 201)
  assertRefused(await pay('1', approved), 409, 'approval_used')
  const { balance } = await apiOk<{ balance: { coin: string } }>(url, 'GET', `/v1/agents/${SLUG}`, {
    token: owner.token,
  })
  assert.ok(Number(balance.coin) < 4 && Number(balance.coin) > 3.9, balance.coin)
  assert.equal((await pay('0.0001')).status, 201)
})

test('the number of waiting approvals is bounded', async () => {
  await letExpire()
  assert.deepEqual(await list(), [])
  const replies = await Promise.all(Array.from({ length: 13 }, () => send(large())))
  assert.equal(replies.filter(({ status }) => status === 202).length, 12)
  assertError(replies.find(({ status }) => status !== 202) ?? assert.fail(), 429, 'rate_limited')
})

test('while control is down, requests that need an approval get 503 and others run', async () => {
  await letExpire()
  completion(await send({ ...large(), max_tokens: 10 }))
  await stack.control.kill9()
  try {
    assertError(await send(large()), 503, 'policy_unavailable')
    completion(await send({ ...large(), max_tokens: 10 }))
  } finally {
    await stack.control.start()
  }
  await until('control answers again', async () => (await send(large())).status === 202)
})
