// Goal: the official client drives every tool of POST /mcp on a key; keys and agents are bound as they are over HTTP.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { apiOk, newOwner, type Owner } from '../support/clients/apiClient.ts'
import { type Receipt, receiptOf } from '../support/clients/chatClient.ts'
import { assertToolError, callMcp, callOk, connectMcp, type Json, postMcp } from '../support/clients/mcpClient.ts'
import { itemOf } from '../support/present.ts'
import { assertReconciled } from '../support/reconcile.ts'
import { type Stack, startStack, until } from '../support/stack.ts'

const M = 'test/small'
const HELLO = { model: M, max_tokens: 50, messages: [{ role: 'user', content: 'hello' }] }

let stack: Stack
let owner: Owner

before(async () => {
  stack = await startStack({
    catalog: {
      models: [
        { id: M },
        { id: 'test/other' },
        { id: 'test/tool', upstream: 'mock,tool' },
        { id: 'test/broken', upstream: 'mock,error=500' },
        { id: 'test/slow', upstream: 'mock,slow_headers=600' },
        { id: 'test/unverified', verified: false },
        { id: 'test/batch', price: { input: '1', output: '2', batch_input: '0.5', batch_output: '1' } },
      ],
    },
  })
  owner = await newOwner(stack, { coin: '5', credits: '10' })
})
after(() => stack.finish())

const connect = (key = owner.apiKey, headers = {}) => connectMcp(stack.baseUrl, key, headers)

test('chat answers with the completion and its receipt, charged as the provider reported', async () => {
  const client = await connect()
  const result = await callMcp(client, 'chat', HELLO)
  assert.ok(result.isError !== true)
  const completion = result.structuredContent as Json & { id: string; choices: { message: Json }[]; receipt: Receipt }
  assert.equal(itemOf(result.content, 0).text, itemOf(completion.choices, 0).message['content'])
  assert.deepEqual([completion['object'], completion['model']], ['chat.completion', M])
  assert.equal(completion.receipt.request_id, completion.id)
  assert.equal(result._meta, undefined)
  assertReconciled(completion.receipt, await stack.provider.log())
  const receipt = await callOk(client, 'receipt', { id: completion.id })
  const { log, ...booked } = receipt as Json & { log: { proof: unknown } }
  assert.ok(log.proof)
  assert.deepEqual(booked, completion.receipt)
  await client.close()
})

test('a tool call of the model is returned whole', async () => {
  const client = await connect()
  const tools = [{ type: 'function', function: { name: 'f', parameters: { type: 'object', properties: {} } } }]
  const result = await callMcp(client, 'chat', { ...HELLO, model: 'test/tool', tools })
  const { choices } = result.structuredContent as { choices: { message: { tool_calls: unknown[] } }[] }
  assert.equal(itemOf(choices, 0).message.tool_calls.length, 1)
  await client.close()
})

test('list_models shows all served models with prices; with a key, only the models that it may use', async () => {
  const anyone = await connect('')
  const all = (await callOk(anyone, 'list_models')) as { models: { id: string; price: Json }[]; price_sheet: string }
  const ids = all.models.map(({ id }) => id)
  assert.ok(ids.includes(M) && !ids.includes('test/unverified'))
  assert.deepEqual(itemOf(all.models, 0).price, { input: '1', output: '2', cached_input: '0.5' })
  assert.deepEqual((await callOk(anyone, 'list_models', { modality: 'image' }))['models'], [])
  const made = await stack.cli('key', 'create', owner.accountId, '--name', 'one', '--model', 'test/other')
  const bound = await connect((made.json as { api_key: string }).api_key)
  const few = (await callOk(bound, 'list_models')) as { models: { id: string }[] }
  assert.deepEqual(
    few.models.map(({ id }) => id),
    ['test/other'],
  )
  assertToolError(await callMcp(bound, 'chat', HELLO), 403, 'model_not_allowed', 'model')
  await Promise.all([anyone.close(), bound.close()])
})

test('a quote equals the hold of the same call and runs no request', async () => {
  const client = await connect()
  const before = (await stack.provider.log()).length
  const quote = (await callOk(client, 'quote', HELLO)) as { hold: { units: string }; max_tokens: number; price: Json }
  assert.equal((await stack.provider.log()).length, before)
  const { receipt } = (await callOk(client, 'chat', HELLO)) as { receipt: Receipt }
  assert.equal(quote.hold.units, receipt.hold.units)
  assert.equal(quote.max_tokens, 50)
  assert.equal(quote.price['input'], '1')
  const keyless = await connect('')
  assert.deepEqual(await callOk(keyless, 'quote', HELLO), quote)
  // What the tool chat refuses has no price.
  for (const tool of ['quote', 'chat']) {
    assertToolError(await callMcp(client, tool, { ...HELLO, model: 'test/batch:batch' }), 400, 'batch_unavailable')
  }
  await Promise.all([client.close(), keyless.close()])
})

test('balance returns the balance of the account, or of the agent', async () => {
  const other = await newOwner(stack, { coin: '3', credits: '2' })
  const client = await connect(other.apiKey)
  const balance = await callOk(client, 'balance')
  assert.deepEqual(balance, {
    object: 'balance',
    balance: { coin: '3', credits: '2' },
    available: { coin: '3', credits: '2' },
  })
  const { token } = other
  await apiOk(stack.baseUrl, 'POST', '/v1/agents', { token, body: { slug: 'saver' } })
  const made = await apiOk<{ api_key: string }>(stack.baseUrl, 'POST', '/v1/agents/saver/key', { token })
  await apiOk(stack.baseUrl, 'POST', '/v1/agents/saver/fund', { token, body: { amount: '1.25' } })
  const agent = await connect(made.api_key)
  await until('the fund has arrived', async () => {
    const { available } = (await callOk(agent, 'balance')) as { available: { coin: string } | null }
    return available?.coin === '1.25'
  })
  await Promise.all([client.close(), agent.close()])
})

test('a rejected call is a result that states the reason, and is not charged', async () => {
  const client = await connect()
  const anyone = await connect('')
  const stranger = await connect(`sk_${'A'.repeat(43)}`)
  assertToolError(await callMcp(client, 'chat', { ...HELLO, model: 'none' }), 404, 'model_not_found', 'model')
  assertToolError(await callMcp(client, 'chat', { model: M }), 400, null, 'messages')
  assertToolError(await callMcp(client, 'chat', { ...HELLO, stream: true }), 400, null, 'stream')
  assertToolError(await callMcp(client, 'chat', { ...HELLO, model: 'test/broken' }), 502, 'upstream_unavailable')
  assertToolError(await callMcp(client, 'quote', { ...HELLO, max_tokens: 1e6 }), 400, 'context_length_exceeded')
  assertToolError(await callMcp(client, 'receipt', { id: 'req_none' }), 404, 'receipt_not_found')
  assertToolError(await callMcp(stranger, 'chat', HELLO), 401, 'invalid_api_key')
  assertToolError(await callMcp(stranger, 'balance'), 401, 'invalid_api_key')
  assertToolError(await callMcp(anyone, 'balance'), 401, 'invalid_api_key')
  // This gateway takes no payments, so a call without a key lacks the key.
  assertToolError(await callMcp(anyone, 'chat', HELLO), 401, 'invalid_api_key')
  const poor = await connect((await stack.createAccount({ credits: '0.000001' })).apiKey)
  assertToolError(await callMcp(poor, 'chat', HELLO), 402, 'insufficient_balance')
  await Promise.all([client, anyone, stranger, poor].map((one) => one.close()))
})

test('a key cannot read receipts of other keys, which are public without a key', async () => {
  const client = await connect()
  const { id } = (await callOk(client, 'chat', HELLO)) as { id: string }
  const other = await connect((await stack.createAccount()).apiKey)
  const refused = await callMcp(other, 'receipt', { id })
  assert.equal(refused.isError, true)
  const anyone = await connect('')
  assert.equal((await callOk(anyone, 'receipt', { id }))['request_id'], id)
  await Promise.all([client, other, anyone].map((one) => one.close()))
})

test('a payment beside a key is rejected before any settlement', async () => {
  const client = await connect()
  const before = (await stack.provider.log()).length
  for (const meta of [
    { 'x402/payment': { x402Version: 2 } },
    { 'org.paymentauth/credential': { challenge: {}, payload: {} } },
  ]) {
    assertToolError(await callMcp(client, 'chat', HELLO, meta), 400, 'payment_with_key')
  }
  assert.equal((await stack.provider.log()).length, before)
  await client.close()
})

test("an agent's models, cap and approvals apply to MCP too", async () => {
  const { token } = owner
  const body = { slug: 'caller', models: [M], request_cap: '0.01', approval_threshold: '0.001' }
  await apiOk(stack.baseUrl, 'POST', '/v1/agents', { token, body })
  const made = await apiOk<{ api_key: string }>(stack.baseUrl, 'POST', '/v1/agents/caller/key', { token })
  await apiOk(stack.baseUrl, 'POST', '/v1/agents/caller/fund', { token, body: { amount: '1' } })
  const agent = await connect(made.api_key)
  await callOk(agent, 'chat', HELLO)
  assertToolError(await callMcp(agent, 'chat', { ...HELLO, model: 'test/other' }), 403, 'model_not_allowed')
  assertToolError(await callMcp(agent, 'chat', { ...HELLO, max_tokens: 8_000 }), 402, 'request_cap_exceeded')
  const large = { ...HELLO, max_tokens: 2_000 }
  const before = (await stack.provider.log()).length
  const waiting = await callMcp(agent, 'chat', large)
  assert.equal(waiting.isError, true)
  const approval = waiting.structuredContent as { id: string; type: string; http_status: number; error: Json }
  assert.deepEqual(
    [approval.type, approval.http_status, approval.error['code']],
    ['approval_required', 202, 'approval_required'],
  )
  assert.equal((await stack.provider.log()).length, before)
  await apiOk(stack.baseUrl, 'POST', `/v1/agents/caller/approvals/${approval.id}/approve`, { token, body: {} })
  const meta = { 'sluice/approval-id': approval.id }
  const changed = await callMcp(agent, 'chat', { ...large, temperature: 1 }, meta)
  assertToolError(changed, 409, 'approval_mismatch')
  await callOk(agent, 'chat', large, meta)
  assertToolError(await callMcp(agent, 'chat', large, meta), 409, 'approval_used')
  await agent.close()
})

test('a client that disconnects is charged by the rules of every request, once', async () => {
  const before = (await stack.provider.log()).length
  await stack.provider.hold()
  const gone = new AbortController()
  const params = { name: 'chat', arguments: { ...HELLO, model: 'test/slow' } }
  const sent = fetch(`${stack.baseUrl}/mcp`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${owner.apiKey}` },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params }),
    signal: gone.signal,
  }).catch(() => undefined)
  await stack.provider.leaveHeld({ destroy: () => gone.abort() })
  await sent
  await until('the provider has seen it', async () => (await stack.provider.log()).length > before)
  await stack.settled()
  const served = (await stack.provider.log()).at(-1)
  const receipt = await receiptOf(stack.baseUrl, owner.apiKey, served?.request_id ?? '')
  assert.equal(receipt.error, 'client_gone')
})

test('the request id of the response equals that of the receipt', async () => {
  const message = { jsonrpc: '2.0', id: 'a', method: 'tools/call', params: { name: 'chat', arguments: HELLO } }
  const { headers, body } = await postMcp(stack.baseUrl, message, { authorization: `Bearer ${owner.apiKey}` })
  const content = body.result?.['structuredContent'] as { id: string } | undefined
  assert.equal(headers.get('x-request-id'), content?.id)
})
