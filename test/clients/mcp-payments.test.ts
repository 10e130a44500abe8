// Goal: a call of chat is paid by itself, by x402 and by MPP as their MCP transports say, once, and for nothing else
// than the call that was quoted. Method: the official client, the reference client of x402 and mppx on a chain.
import assert from 'node:assert/strict'
import test, { after, before } from 'node:test'
import type { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { x402Client } from '@x402/core/client'
import type { PaymentPayload, PaymentRequired, SettleResponse } from '@x402/core/types'
import { ExactEvmScheme } from '@x402/evm/exact/client'
import { McpClient } from 'mppx/mcp/client'
import { FUNDS, type Payer } from '../support/chain.ts'
import type { Receipt } from '../support/clients/chatClient.ts'
import {
  assertToolError,
  callMcp,
  callOk,
  connectMcp,
  type Json,
  postMcp,
  rpcErrorOf,
  type ToolResult,
} from '../support/clients/mcpClient.ts'
import { mppxCharge } from '../support/clients/mppxCharge.ts'
import { type PaidStack, startPaidStack } from '../support/paidStack.ts'
import { itemOf } from '../support/present.ts'
import { assertReconciled } from '../support/reconcile.ts'

const HELLO = { model: 'test/small', max_tokens: 100, messages: [{ role: 'user', content: 'hello' }] }
const MPP_REQUIRED = 'org.paymentauth/payment-required'
const MPP_RECEIPT = 'org.paymentauth/receipt'

let paid: PaidStack
let client: Client

before(async () => {
  paid = await startPaidStack({
    catalog: { models: [{ id: 'test/small' }, { id: 'test/broken', upstream: 'mock,error=500' }] },
  })
  client = await connectMcp(paid.stack.baseUrl)
})
after(async () => {
  await client.close()
  await paid.audited()
  await paid.stop()
})

const served = async () => (await paid.stack.provider.log()).length

async function quoteOf(input: Json = HELLO): Promise<PaymentRequired> {
  const result = await callMcp(client, 'chat', input)
  assert.equal(result.isError, true)
  assert.deepEqual(JSON.parse(itemOf(result.content, 0).text), result.structuredContent)
  return result.structuredContent as unknown as PaymentRequired
}

function sign(payer: Payer, required: PaymentRequired): Promise<PaymentPayload> {
  const signer = new x402Client().register('eip155:*', new ExactEvmScheme(payer as never)).setSpendControls(false)
  return signer.createPaymentPayload(required)
}

const pay = (payload: unknown, input: Json = HELLO, meta: Json = {}): Promise<ToolResult> =>
  callMcp(client, 'chat', input, { 'x402/payment': payload, ...meta })

const metaOf = (result: ToolResult, name: string): unknown => result._meta?.[name]

/** What is asked again names this reason. */
function assertAsked(result: ToolResult, reason: string): void {
  assert.equal(result.isError, true)
  assert.equal(result.structuredContent['error'], reason, JSON.stringify(result))
  assert.ok((result.structuredContent['accepts'] as unknown[]).length > 0)
}

test('a call without a key returns the payment requirements for x402 and for MPP', async () => {
  const before = await served()
  const result = await callMcp(client, 'chat', HELLO)
  const required = result.structuredContent as unknown as PaymentRequired
  assert.equal(required.x402Version, 2)
  assert.equal(required.resource?.url, 'mcp://tool/chat')
  assert.equal(required.accepts.length, 2)
  const { challenges } = metaOf(result, MPP_REQUIRED) as { challenges: { request: Json }[] }
  assert.equal(challenges.length, 2)
  assert.equal(typeof itemOf(challenges, 0).request['amount'], 'string')
  assert.equal(await served(), before)
})

test('x402 pays for a call: the result reports the settlement, and the rest is refunded', async () => {
  const payer = await paid.chain.newPayer()
  const result = await pay(await sign(payer, await quoteOf()))
  assert.ok(result.isError !== true, JSON.stringify(result))
  const { id, receipt } = result.structuredContent as { id: string; receipt: Receipt & { paid: Json } }
  const settled = metaOf(result, 'x402/payment-response') as SettleResponse
  assert.equal(settled.success, true)
  assert.equal(settled.payer?.toLowerCase(), payer.address.toLowerCase())
  assert.equal(receipt.paid['transaction'], settled.transaction)
  assert.equal(result._meta?.[MPP_RECEIPT], undefined)
  assertReconciled(receipt, await paid.stack.provider.log())
  assert.equal((await callOk(client, 'receipt', { id }))['status'], 'ok')
  await paid.audited()
  const amount = BigInt(String(receipt.paid['amount']))
  const back = amount - (BigInt(receipt.cost.units) + 999n) / 1_000n
  assert.equal(await paid.has('stablecoin', payer), FUNDS - amount + back)
})

test('the payment requirements of the quote tool pay for the call', async () => {
  const payer = await paid.chain.newPayer()
  const { payment, hold } = (await callOk(client, 'quote', HELLO)) as { payment: { x402: PaymentRequired }; hold: Json }
  const { receipt } = (await pay(await sign(payer, payment.x402))).structuredContent as { receipt: Receipt }
  assert.equal(receipt.hold.units, hold['units'])
})

test('mppx pays for a call automatically through the official client', async () => {
  const payer = await paid.chain.newPayer()
  const own = McpClient.wrap(await connectMcp(paid.stack.baseUrl), { methods: [mppxCharge(paid, payer)] as never })
  const result = (await own.callTool({ name: 'chat', arguments: HELLO })) as unknown as ToolResult & { receipt: Json }
  assert.ok(result.isError !== true, JSON.stringify(result))
  const { receipt } = result.structuredContent as { receipt: { paid: Json } }
  const told = metaOf(result, MPP_RECEIPT) as Json
  assert.deepEqual([told['status'], told['method'], told['reference']], ['success', 'evm', receipt.paid['transaction']])
  assert.equal(typeof told['challengeId'], 'string')
  assert.equal(result._meta?.['x402/payment-response'], undefined)
  await own.close()
})

test('a client that declares MPP support gets fresh challenges in the error', async () => {
  const params = { name: 'chat', arguments: HELLO }
  const message = { jsonrpc: '2.0', id: 1, method: 'tools/call', params }
  const asked = await postMcp(paid.stack.baseUrl, message, { 'accept-payment': 'evm/charge' })
  const { code, data } = rpcErrorOf(asked)
  assert.deepEqual([asked.status, code, data['httpStatus']], [200, -32_042, 402])
  const challenges = data['challenges'] as Json[]
  const stale = {
    challenge: { ...challenges[0], id: 'altered' },
    payload: { type: 'authorization' },
    source: 'did:pkh:eip155:1:0x',
  }
  const withMeta = (credential: unknown) =>
    postMcp(paid.stack.baseUrl, {
      ...message,
      params: { ...params, _meta: { 'org.paymentauth/credential': credential } },
    })
  const refused = rpcErrorOf(await withMeta({ ...stale, source: `did:pkh:eip155:31337:0x${'11'.repeat(20)}` }))
  assert.equal(refused.code, -32_043)
  assert.equal((refused.data['error'] as Json)['code'], 'mpp_invalid_challenge')
  assert.equal((refused.data['challenges'] as unknown[]).length, 2)
  const formless = await withMeta({ challenge: challenges[0], payload: 'x', source: 'y' })
  assert.equal(rpcErrorOf(formless).code, -32_602)
  assert.equal(rpcErrorOf(await withMeta('text')).code, -32_602)
})

test('in the revision without a handshake a call is quoted and paid the same way', async () => {
  const payer = await paid.chain.newPayer()
  const envelope = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientCapabilities': {},
  }
  const headers = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/call', 'mcp-name': 'chat' }
  const send = (meta: Json, more: Record<string, string> = {}) => {
    const params = { name: 'chat', arguments: HELLO, _meta: { ...envelope, ...meta } }
    return postMcp(paid.stack.baseUrl, { jsonrpc: '2.0', id: 1, method: 'tools/call', params }, { ...headers, ...more })
  }
  const asked = rpcErrorOf(await send({}, { 'accept-payment': 'evm/charge' }))
  assert.deepEqual([asked.code, (asked.data['challenges'] as unknown[]).length], [-32_042, 2])
  const required = (await send({})).body.result?.['structuredContent'] as unknown as PaymentRequired
  const payment = { 'x402/payment': await sign(payer, required) }
  const soon = { 'sluice/deadline': new Date(Date.now() + 5_000).toISOString() }
  const refused = (await send({ ...payment, ...soon })).body.result as unknown as ToolResult
  assertToolError(refused, 408, 'deadline_too_close')
  const result = (await send(payment)).body.result as unknown as ToolResult
  assert.ok(result.isError !== true, JSON.stringify(result))
  assert.equal((metaOf(result, 'x402/payment-response') as SettleResponse).success, true)
  assertReconciled((result.structuredContent as { receipt: Receipt }).receipt, await paid.stack.provider.log())
  assertAsked((await send(payment)).body.result as unknown as ToolResult, 'authorization_used')
})

test('a payment is valid for one call, and only for the call that was quoted', async () => {
  const payer = await paid.chain.newPayer()
  const before = await served()
  const payload = await sign(payer, await quoteOf())
  assertAsked(await pay(payload, { ...HELLO, messages: [{ role: 'user', content: 'another' }] }), 'quote_mismatch')
  assertAsked(await pay({ ...payload, payload: {} }), 'payment_invalid')
  const response = await fetch(paid.url('/v1/chat/completions'), {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'payment-signature': Buffer.from(JSON.stringify(payload)).toString('base64'),
    },
    body: JSON.stringify(HELLO),
  })
  assert.equal(response.status, 402, 'the quote was for the MCP tool')
  assert.equal(await served(), before)
  // The same arguments in another order are the same call.
  const { model, max_tokens, messages } = HELLO
  const first = await pay(payload, { messages, max_tokens, model })
  assert.ok(first.isError !== true, JSON.stringify(first))
  assertAsked(await pay(payload), 'authorization_used')
  assert.equal(await served(), before + 1)
})

test('two payments in one call are rejected', async () => {
  const result = await pay({ x402Version: 2 }, HELLO, {
    'org.paymentauth/credential': { challenge: { id: 'x' }, payload: {}, source: 'y' },
  })
  assertToolError(result, 400, 'payment_conflict')
})

test('a paid call whose client times out too soon is rejected before any settlement', async () => {
  const payer = await paid.chain.newPayer()
  const payload = await sign(payer, await quoteOf())
  const soon = { 'sluice/deadline': new Date(Date.now() + 5_000).toISOString() }
  assertToolError(await pay(payload, HELLO, soon), 408, 'deadline_too_close')
  assert.equal(await paid.has('stablecoin', payer), FUNDS)
  await assert.rejects(pay(payload, HELLO, { 'sluice/deadline': 'soon' }), { code: -32_602 })
  const later = { 'sluice/deadline': new Date(Date.now() + 300_000).toISOString() }
  const result = await pay(payload, HELLO, later)
  assert.ok(result.isError !== true, JSON.stringify(result))
})

test('a paid call that no provider serves is refunded in full', async () => {
  const payer = await paid.chain.newPayer()
  const broken = { ...HELLO, model: 'test/broken' }
  const result = await pay(await sign(payer, await quoteOf(broken)), broken)
  assertToolError(result, 502, 'upstream_unavailable')
  assert.equal((metaOf(result, 'x402/payment-response') as SettleResponse).success, true)
  await paid.audited()
  assert.equal(await paid.has('stablecoin', payer), FUNDS)
})

test('a payment from a wallet without funds is rejected with that reason', async () => {
  const payer = await paid.chain.newPayer({ stablecoin: 0n })
  const result = await pay(await sign(payer, await quoteOf()))
  assertAsked(result, 'insufficient_funds')
})
