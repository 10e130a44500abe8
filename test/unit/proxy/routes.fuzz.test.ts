// Goal: no body and no payment, however broken, is a fault of the gateway. Method: sound requests of every endpoint that
// takes JSON are mutated at random and served by the proxy's own routes without sockets; what is not an error of the table
// fails, and so does a status of 500. The seed is in the message; SLUICE_FUZZ_SEED repeats it.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { inspect } from 'node:util'
import { decodePaymentRequiredHeader } from '@x402/core/http'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { API_ROUTES } from '../../../contract/api/routes.ts'
import type { Challenge } from '../../../contract/payments/mpp.ts'
import { authorization } from '../../support/clients/mppClient.ts'
import { signPayment } from '../../support/clients/payloads.ts'
import type { OfflineProxy, OfflineReply } from '../../support/parts/offlineProxy.ts'
import { newProxy, SOUND } from '../../support/parts/soundRequests.ts'
import { rounds } from '../../support/rounds.ts'
import { Mutator, newSeed, seededRandom, withoutTexts } from '../../support/samples/mutations.ts'

const MUTATIONS = rounds({ short: 1_600, long: 100_000 })
const PAYMENT_MUTATIONS = rounds({ short: 800, long: 20_000 })
const AT_ONCE = 100
const NO_KEY = { authorization: '' }
const PAID_PATH = '/x402/v1/rerank'
const PAID_BODY = Buffer.from('{"model":"test/rerank","query":"q","documents":["a"]}')

/** Fails for an answer that is a fault of the gateway. @param shown says which request it was */
function assertNoFault({ status, text }: OfflineReply, proxy: OfflineProxy, shown: () => string): void {
  const isFault = status === 500 || text.includes('"internal_error"') || proxy.faults.length > 0
  if (isFault) assert.fail(`${shown().slice(0, 2_000)}\n${inspect(proxy.faults[0])}`)
}

test('every route that accepts JSON has a valid sample request, except those that control serves', () => {
  const byControl = new Set(Object.values(API_ROUTES).map(({ path }) => path))
  const taking = newProxy().table.filter(({ method, upload }) => method === 'POST' && upload !== true)
  const served = taking.map(({ path }) => path).filter((path) => !byControl.has(path))
  const tried = new Set(SOUND.map(([path]) => path.replace(/^\/v1\/tools\/.*/, '/v1/tools/*')))
  assert.deepEqual([...tried].sort(), [...served].sort())
})

test('the valid sample requests reach a provider, or control, or get a price', async () => {
  for (const [path, body] of SOUND) {
    const proxy = newProxy()
    const { status, text } = await proxy.send(path, Buffer.from(JSON.stringify(body)))
    assert.deepEqual(proxy.faults, [], path)
    const expected = path.startsWith('/x402/') ? [402] : [200, 429, 502, 503]
    assert.ok(expected.includes(status), `${path}: ${status} ${text}`)
  }
})

test(`none of ${MUTATIONS} malformed requests causes an internal error`, async () => {
  const seed = newSeed()
  const mutator = new Mutator(seededRandom(seed))
  const proxy = newProxy()
  const sound = SOUND.map(([path, body]) => ({ path, text: JSON.stringify(body) }))
  const statuses = new Map<number, number>()
  for (let sent = 0; sent < MUTATIONS; sent += AT_ONCE) {
    const requests = Array.from({ length: AT_ONCE }, (_one, i) => {
      const { path, text } = sound[(sent + i) % sound.length] ?? assert.fail()
      return { path, bytes: mutator.mutate(text) }
    })
    const replies = await Promise.all(requests.map(({ path, bytes }) => proxy.send(path, bytes)))
    for (const [i, reply] of replies.entries()) {
      statuses.set(reply.status, (statuses.get(reply.status) ?? 0) + 1)
      const { path, bytes } = requests[i] ?? assert.fail()
      assertNoFault(reply, proxy, () => `seed ${seed}: ${path} ${bytes.toString()}`)
    }
  }
  // Many have to pass the readers, else what comes behind them is not tried.
  const shown = JSON.stringify([...statuses])
  assert.ok(proxy.asked > MUTATIONS / 20, `${proxy.asked} reached a provider: ${shown}`)
  assert.ok((statuses.get(402) ?? 0) > MUTATIONS / 40, shown)
  assert.ok((statuses.get(400) ?? 0) > MUTATIONS / 4, shown)
})

for (const provider of ['mock', 'claude']) {
  test(`no value of a request that is no text causes an internal error before ${provider}`, async () => {
    const proxy = newProxy([provider])
    for (const [path, body] of SOUND) {
      for (const text of withoutTexts(JSON.stringify(body))) {
        assertNoFault(await proxy.send(path, Buffer.from(text)), proxy, () => `${path} ${text}`)
      }
    }
  })
}

/** A payment by each protocol of a request that the proxy has just priced. */
async function soundPayments(proxy: OfflineProxy): Promise<{ x402: object; mpp: object }> {
  const { status, text, headers } = await proxy.send(PAID_PATH, PAID_BODY, NO_KEY)
  assert.equal(status, 402, text)
  const required = decodePaymentRequiredHeader(headers[headers.indexOf('payment-required') + 1] ?? '')
  const { mpp } = (JSON.parse(text) as { payment: { mpp: Challenge[] } }).payment
  const [[offer], [challenge]] = [required.accepts, mpp]
  assert.ok(offer && challenge)
  const privateKey = generatePrivateKey()
  const payer = { ...privateKeyToAccount(privateKey), privateKey }
  const source = `did:pkh:eip155:31337:${payer.address}`
  return {
    x402: await signPayment(payer, offer as Parameters<typeof signPayment>[1]),
    mpp: { challenge, payload: await authorization(challenge, payer), source },
  }
}

/** The ways in which a payment comes, as text that may be broken. */
const WAYS: Readonly<Record<string, (proxy: OfflineProxy, payment: Buffer | string) => Promise<OfflineReply>>> = {
  x402: (proxy, payment) =>
    proxy.send(PAID_PATH, PAID_BODY, { ...NO_KEY, paymentSignature: Buffer.from(payment).toString('base64') }),
  mpp: (proxy, payment) =>
    proxy.send(PAID_PATH, PAID_BODY, { authorization: `Payment ${Buffer.from(payment).toString('base64url')}` }),
  'x402 by MCP': (proxy, payment) => callTool(proxy, `"x402/payment":${payment}`),
  'mpp by MCP': (proxy, payment) => callTool(proxy, `"org.paymentauth/credential":${payment}`),
}

function callTool(proxy: OfflineProxy, meta: string): Promise<OfflineReply> {
  const input = '{"model":"test/chat","messages":[{"role":"user","content":"a"}],"max_tokens":5}'
  const params = `{"name":"chat","arguments":${input},"_meta":{${meta}}}`
  const body = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":${params}}`
  return proxy.send('/mcp', Buffer.from(body), NO_KEY)
}

test(`none of ${PAYMENT_MUTATIONS} malformed payments causes an internal error`, async () => {
  const seed = newSeed()
  const mutator = new Mutator(seededRandom(seed))
  const proxy = newProxy()
  const payments = await soundPayments(proxy)
  for (const [way, pay] of Object.entries(WAYS)) {
    const text = JSON.stringify(way.startsWith('x402') ? payments.x402 : payments.mpp)
    const sound = await pay(proxy, text)
    // Control is not there to make the payment; one that comes by a tool is for another request.
    assert.match(
      sound.text,
      way.endsWith('MCP') ? /mismatch|invalid_challenge/ : /^payments_busy/,
      `${way}: ${sound.text}`,
    )
    for (let sent = 0; sent < PAYMENT_MUTATIONS / 4; sent++) {
      const payment = mutator.mutate(text)
      assertNoFault(await pay(proxy, payment), proxy, () => `seed ${seed}: ${way} ${payment.toString()}`)
    }
  }
})
