import assert from 'node:assert/strict'
import test, { after, afterEach, before } from 'node:test'
import { decodePaymentRequiredHeader } from '@x402/core/http'
import type { PaymentRequired } from '@x402/core/types'
import { getAddress } from 'viem/utils'
import { FUNDS, type Payer } from '../../support/chain.ts'
import { mediaModel } from '../../support/clients/mediaClient.ts'
import { codeOf, HELLO, payFor, paymentHeader, post, quote } from '../../support/clients/paidClient.ts'
import { videoModel } from '../../support/clients/videoClient.ts'
import { type PaidStack, startPaidStack } from '../../support/paidStack.ts'
import { wavFile } from '../../support/samples/audio.ts'
import { until } from '../../support/stack.ts'

const PNG = Buffer.from('89504e470d0a1a0a0000', 'hex')
const MODALITIES = ['embedding', 'image', 'transcription', 'rerank', 'speech'] as const
let paid: PaidStack
let payer: Payer

before(async () => {
  paid = await startPaidStack({
    limits: { videoPollMinMs: 20, videoPollMaxMs: 50 },
    catalog: {
      models: [
        { id: 'test/small', endpoints: ['chat', 'completions'] },
        { id: 'test/odd', price: { input: '1.001', output: '2.003' } },
        ...MODALITIES.map((modality) => mediaModel(`test/${modality}`, modality)),
        mediaModel('test/strict', 'embedding', 'mock,error=422'),
        mediaModel('test/unpaid', 'embedding', 'mock,error=402'),
        videoModel('test/video', 'mock'),
        videoModel('test/video-bad', 'mock,error=422'),
        videoModel('test/video-unpaid', 'video,error=402'),
      ],
    },
  })
  payer = await paid.chain.newPayer()
})
after(() => paid.stop())
afterEach(() => paid.audited())

interface Answer {
  readonly status: number
  readonly headers: Headers
  readonly bytes: Buffer
}

/** Asks for the price of a request, pays it and sends it again with the same bytes. */
async function buy(path: string, body: unknown, who = payer): Promise<Answer> {
  const request = new Request(paid.url(path), bodyOf(body))
  const bytes = Buffer.from(await request.arrayBuffer())
  const headers = { 'content-type': request.headers.get('content-type') ?? '' }
  const send = (more: Record<string, string>) =>
    fetch(paid.url(path), { method: 'POST', headers: { ...headers, ...more }, body: bytes })
  const asked = await send({})
  assert.equal(asked.status, 402, await asked.clone().text())
  const required = decodePaymentRequiredHeader(asked.headers.get('payment-required') ?? '') as PaymentRequired
  const payload = await payFor({ required, challenges: [], reply: null as never }, who)
  const response = await send(paymentHeader(payload))
  return { status: response.status, headers: response.headers, bytes: Buffer.from(await response.arrayBuffer()) }
}

function bodyOf(body: unknown): RequestInit {
  if (body instanceof FormData) return { method: 'POST', body }
  return { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }
}

function form(fields: Record<string, string | Buffer>): FormData {
  const data = new FormData()
  for (const [name, value] of Object.entries(fields)) {
    if (typeof value === 'string') data.append(name, value)
    else data.append(name, new Blob([new Uint8Array(value)]), 'file.bin')
  }
  return data
}

const REQUESTS: Record<string, unknown> = {
  '/v1/completions': { model: 'test/small', prompt: 'Once', max_tokens: 20 },
  '/v1/embeddings': { model: 'test/embedding', input: ['hello', 'world'] },
  '/v1/images/generations': { model: 'test/image', prompt: 'a cat', n: 2 },
  '/v1/images/edits': form({ model: 'test/image', prompt: 'a cat', image: PNG }),
  '/v1/audio/speech': { model: 'test/speech', input: 'Grüße' },
  '/v1/audio/transcriptions': form({ model: 'test/transcription', file: wavFile(10) }),
  '/v1/rerank': { model: 'test/rerank', query: 'q', documents: ['a', 'b'] },
}

for (const [path, body] of Object.entries(REQUESTS)) {
  test(`${path} is sold per request, and the charge is kept`, async () => {
    const before = await paid.has('stablecoin', payer)
    const answer = await buy(path, body)
    assert.equal(answer.status, 200, answer.bytes.toString('utf8').slice(0, 500))
    assert.ok(answer.headers.get('payment-response'))
    const id = answer.headers.get('x-request-id')
    await paid.audited()
    const receipt = (await (await fetch(paid.url(`/v1/receipts/${id}`))).json()) as {
      status: string
      cost: { units: string }
      paid: { amount: string; refund: { amount: string } | null }
    }
    assert.equal(receipt.status, 'ok')
    assert.ok(Number(receipt.cost.units) > 0)
    // Chat and text completions say it in the receipt alone; speech is sent before its cost is known.
    if (path === '/v1/completions') assert.equal(answer.headers.get('x-cost-units'), null)
    else if (path !== '/v1/audio/speech') assert.equal(answer.headers.get('x-cost-units'), receipt.cost.units)
    const kept = BigInt(receipt.paid.amount) - BigInt(receipt.paid.refund?.amount ?? 0)
    assert.equal(await paid.has('stablecoin', payer), before - kept)
    assert.ok(kept > 0n && kept >= BigInt(receipt.cost.units) / 1_000n)
  })
}

test('a video job is paid for immediately, read only with its token, and its clip fetched', async () => {
  const answer = await buy('/v1/videos/generations', { model: 'test/video', prompt: 'a cat', seconds: 4 })
  assert.equal(answer.status, 202, answer.bytes.toString())
  const job = JSON.parse(answer.bytes.toString()) as { id: string; read_token: string; poll: string }
  assert.match(job.read_token, /^rt_[0-9A-Za-z]{43}$/)
  const read = (headers: Record<string, string>, path = job.poll) => fetch(path, { headers })
  for (const headers of [{}, { authorization: `Bearer rt_${'a'.repeat(43)}` }] as Array<Record<string, string>>) {
    const reply = await read(headers)
    assert.equal(reply.status, 401)
    assert.equal(((await reply.json()) as { error: { code: string } }).error.code, 'read_token_required')
  }
  const token = { authorization: `Bearer ${job.read_token}` }
  let seen: { status?: string; receipt?: { paid?: { amount: string } }; read_token?: string } = {}
  await until('the clip is made', async () => {
    seen = (await (await read(token)).json()) as typeof seen
    return seen.status === 'completed'
  })
  assert.ok(seen.receipt?.paid?.amount)
  assert.equal(seen.read_token, undefined)
  const clip = await read(token, `${job.poll}/content`)
  assert.equal(clip.status, 200)
  assert.ok((await clip.arrayBuffer()).byteLength > 0)
})

test('a provider that rejects: its own status, and a full refund', async () => {
  const other = await paid.chain.newPayer()
  const cases: Array<[path: string, body: unknown, status: number]> = [
    ['/v1/embeddings', { model: 'test/strict', input: 'x' }, 422],
    ['/v1/videos/generations', { model: 'test/video-bad', prompt: 'a cat' }, 422],
  ]
  for (const [path, body, status] of cases) {
    const answer = await buy(path, body, other)
    assert.equal(answer.status, status, answer.bytes.toString())
    await paid.audited()
    assert.equal(await paid.has('stablecoin', other), FUNDS)
  }
})

test('a provider that responds 402 does not make the client pay twice', async () => {
  const other = await paid.chain.newPayer()
  const cases: Array<[path: string, body: unknown]> = [
    ['/v1/embeddings', { model: 'test/unpaid', input: 'x' }],
    ['/v1/videos/generations', { model: 'test/video-unpaid', prompt: 'a cat' }],
  ]
  for (const [path, body] of cases) {
    const answer = await buy(path, body, other)
    const { error } = JSON.parse(answer.bytes.toString()) as { error: { code: string } }
    assert.deepEqual([answer.status, error.code], [502, 'upstream_unavailable'])
    assert.equal(answer.headers.get('payment-required'), null)
    assert.equal(answer.headers.get('www-authenticate'), null)
    await paid.audited()
    assert.equal(await paid.has('stablecoin', other), FUNDS)
  }
})

test('a payment for one path is not accepted for another', async () => {
  const body = { ...HELLO, prompt: 'Once' }
  const payload = await payFor(await quote(paid, body), payer)
  const other = await post(paid, body, paymentHeader(payload), '/v1/completions')
  assert.equal(codeOf(other), 'quote_mismatch', other.text)
  assert.equal(codeOf(await post(paid, body, paymentHeader(payload))), 'paid')
})

test('x-erc8004-agent: the payer must be owner or wallet of an agent of the registry', async () => {
  const { registry } = paid.chain.contracts
  const agentId = await paid.chain.registerAgent(payer)
  const stranger = await paid.chain.newPayer()
  const send = async (agent: string, who = payer) => {
    const headers = paymentHeader(await payFor(await quote(paid), who))
    const reply = await post(paid, HELLO, { ...headers, 'x-erc8004-agent': agent })
    return `${reply.status} ${codeOf(reply)}`
  }
  const full = `eip155:${paid.chain.chainId}:${registry}:${agentId}`
  const otherRegistry = full.replace(registry, payer.address)
  for (const bad of ['x', '-1', '01', `eip155:1:${registry}:${agentId}`, otherRegistry, `${2n ** 256n}`]) {
    assert.equal(await send(bad), '400 agent_identity_invalid', bad)
  }
  assert.equal(await send('123456'), '400 agent_identity_unknown')
  assert.equal(await send(full, stranger), '403 agent_identity_not_payer')
  const claims = await paid.pool.query('SELECT FROM payments WHERE payer = $1', [stranger.address.toLowerCase()])
  assert.equal(claims.rowCount, 0)
  assert.equal(await send(full), '200 paid')
  assert.equal(await send(String(agentId)), '200 paid')
  await paid.chain.setAgentWallet(payer, agentId, stranger)
  assert.equal(await send(full, stranger), '200 paid')
})

interface Amount {
  readonly units: string
  readonly usd: string
  readonly coin: string
}

/** The credit of a wallet in the stablecoin, as anybody can read it. */
async function creditOf(address: string): Promise<Amount> {
  const response = await fetch(paid.url(`/v1/credits/${address}`))
  assert.equal(response.status, 200)
  const read = (await response.json()) as { address: string; network: string; credits: (Amount & { asset: string })[] }
  assert.equal(read.address, getAddress(address))
  assert.equal(read.network, `eip155:${paid.chain.chainId}`)
  assert.deepEqual(
    read.credits.map(({ asset }) => asset),
    ['stablecoin', 'coin'],
  )
  const [{ units, usd, coin } = { units: '', usd: '', coin: '' }] = read.credits
  return { units, usd, coin }
}

test('a remainder below one atomic unit becomes credit of the wallet, on the receipt and publicly readable', async () => {
  const other = await paid.chain.newPayer()
  const none = { units: '0', usd: '0', coin: '0' }
  assert.deepEqual(await creditOf(other.address), none)
  const body = { ...HELLO, model: 'test/odd' }
  const reply = await buy('/v1/chat/completions', body, other)
  assert.equal(reply.status, 200, reply.bytes.toString())
  const answer = JSON.parse(reply.bytes.toString()) as { id: string; receipt: { paid: { credit: unknown } } }
  assert.equal(answer.receipt.paid.credit, null)
  await paid.audited()
  const receipt = (await (await fetch(paid.url(`/v1/receipts/${answer.id}`))).json()) as {
    cost: Amount
    paid: Amount & { refund: Amount; credit: { used: Amount; kept: Amount; left: Amount } }
  }
  const { refund, credit } = receipt.paid
  const kept = Number(receipt.paid.units) - Number(receipt.cost.units) - Number(refund.units)
  assert.ok(kept > 0 && kept < 1_000, String(kept))
  assert.equal(credit.kept.units, String(kept))
  assert.deepEqual(credit.used, none)
  assert.deepEqual(credit.left, credit.kept)
  assert.deepEqual(await creditOf(other.address.toUpperCase().replace('0X', '0x')), credit.left)
  assert.deepEqual(await creditOf((await paid.chain.newPayer()).address), none)
})

test('the credit of an invalid address: invalid_address', async () => {
  for (const address of ['0x12', `${payer.address}0`, 'nobody', payer.address.slice(2)]) {
    const response = await fetch(paid.url(`/v1/credits/${address}`))
    assert.equal(response.status, 400)
    const { error } = (await response.json()) as { error: { code: string; param: string } }
    assert.deepEqual({ code: error.code, param: error.param }, { code: 'invalid_address', param: 'address' })
  }
})
