// Goal: a wallet that is a contract signs in when a chain is configured, and only with what the contract takes. Method: a
// stack whose chain is a JSON-RPC server that answers as a node with one such contract.
import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, test } from 'node:test'
import { getAddress, type Hex, hashMessage } from 'viem'
import { api, apiOk, assertRefused, newWallet, signedMessage } from '../../support/clients/apiClient.ts'
import { limits } from '../../support/limits.ts'
import { type Stack, startStack } from '../../support/stack.ts'

const CHAIN_ID = 31_337
/** Longer than a busy machine lets the node stand still, and far less than a call to control may take. */
const SILENCE_MS = 6_000
const CALL_MS = 30_000
const CONTRACT = getAddress('0x00000000000000000000000000000000000c0de1')
/** isValidSignature(bytes32,bytes), https://eips.ethereum.org/EIPS/eip-1271 */
const SELECTOR = '0x1626ba7e'

interface Call {
  readonly id: number
  readonly method: string
  readonly params: [{ to: string; data: string }]
}

let stack: Stack
let url: string
let node: ReturnType<typeof createServer>
/** How the node behaves, and the hash that the contract takes a signature of. */
let mode: 'well' | 'reverts' | 'fails' | 'silent' = 'well'
let signedHash: Hex = '0x'
let calls = 0
let asked = 0

/** Control asks for the height of the chain by itself, to know how it is. */
function answerTo({ method, params }: Call): object {
  if (method !== 'eth_call' && method !== 'eth_chainId') return { result: '0x1' }
  calls++
  if (method === 'eth_chainId') return { result: `0x${CHAIN_ID.toString(16)}` }
  if (mode === 'reverts') return { error: { code: 3, message: 'execution reverted', data: '0x' } }
  if (mode === 'fails') return { error: { code: -32_603, message: 'internal error' } }
  const [{ to, data }] = params
  if (to.toLowerCase() !== CONTRACT.toLowerCase()) return { result: '0x' }
  assert.ok(data.startsWith(SELECTOR))
  const isSigned = data.slice(10, 74) === signedHash.slice(2)
  return { result: (isSigned ? SELECTOR : '0xffffffff').padEnd(66, '0') }
}

before(async () => {
  node = createServer((request, response) => {
    let text = ''
    request.on('data', (piece: Buffer) => {
      text += piece.toString('utf8')
    })
    request.on('end', () => {
      const call = JSON.parse(text) as Call
      if (call.method === 'eth_call') asked++
      if (mode === 'silent') return
      response.setHeader('content-type', 'application/json')
      response.end(JSON.stringify({ jsonrpc: '2.0', id: call.id, ...answerTo(call) }))
    })
  })
  await new Promise<void>((resolve) => node.listen(0, '127.0.0.1', resolve))
  const CHAIN_RPC_URL = `http://127.0.0.1:${(node.address() as AddressInfo).port}`
  stack = await startStack({
    // As many wrong signatures as the tests send: a chain that fails must not count as one.
    limits: {
      chainTimeoutMs: SILENCE_MS,
      apiTimeoutMs: CALL_MS,
      rpcTimeoutMs: CALL_MS,
      signatureFailuresPerMinute: 3,
    },
    env: { CHAIN_RPC_URL, SLUICE_PUBLIC_URL: 'https://gateway.example.com/' },
  })
  url = stack.baseUrl
})

after(async () => {
  await stack.finish()
  node.closeAllConnections()
  await new Promise((resolve) => node.close(resolve))
})

const SITE = { domain: 'gateway.example.com', uri: 'https://gateway.example.com/login' }
const verify = (body: unknown) => api<{ address: string }>(url, 'POST', '/v1/auth/verify', { body })

/** A message of the contract; the signature of a key that is not its own stands for whatever the contract checks. */
async function ofContract(chainId = CHAIN_ID, address = CONTRACT) {
  const body = await signedMessage(url, newWallet(), { ...SITE, address, chainId })
  signedHash = hashMessage(body.message)
  return body
}

test('a contract wallet signs in with a signature that it accepts', async () => {
  const body = await ofContract()
  const answer = await verify(body)
  assert.deepEqual([answer.status, answer.body.address], [200, CONTRACT], answer.text)
  assertRefused(await verify(body), 400, null, 'message')
})

test('sign-in fails if the contract rejects the signature, is on another chain, or does not exist', async () => {
  const body = await ofContract()
  signedHash = '0x'
  assertRefused(await verify(body), 400, 'bad_signature')
  const elsewhere = await verify(await ofContract(1))
  assertRefused(elsewhere, 400, null, 'message')
  assert.match(elsewhere.text, /Chain ID: 31337/)
  const nowhere = getAddress('0x00000000000000000000000000000000000000aa')
  assertRefused(await verify(await ofContract(CHAIN_ID, nowhere)), 400, 'bad_signature')
  mode = 'reverts'
  assertRefused(await verify(await ofContract()), 400, 'bad_signature')
  mode = 'well'
})

test('a failing or silent chain is reported as such in time, and the message remains usable', async () => {
  const body = await ofContract()
  // Had the time for the chain not ended first, the answer would be that control is late.
  assert.ok(limits.chainTimeoutMs < limits.apiTimeoutMs)
  for (const broken of ['fails', 'silent'] as const) {
    mode = broken
    asked = 0
    assertRefused(await verify(body), 503, 'chain_unavailable')
    assert.equal(asked, 1, 'it was asked once')
  }
  mode = 'well'
  assert.equal((await verify(body)).status, 200)
})

test('a wallet with its own key signs in without a chain call, for the configured chain and site only', async () => {
  const before = calls
  const wallet = newWallet()
  assert.equal((await verify(await signedMessage(url, wallet, SITE))).status, 200)
  for (const chainId of [1, 137, 8453, 2_147_483_647]) {
    const elsewhere = await verify(await signedMessage(url, wallet, { ...SITE, chainId }))
    assertRefused(elsewhere, 400, null, 'message')
    assert.match(elsewhere.text, /must have Chain ID: 31337/)
  }
  assert.equal(calls, before)
  for (const site of [
    {},
    { ...SITE, uri: 'http://gateway.example.com' },
    { ...SITE, uri: 'https://gateway.example.com.evil.example' },
    { ...SITE, domain: 'evil.example' },
  ]) {
    assertRefused(await verify(await signedMessage(url, wallet, site)), 400, null, 'message')
  }
  const nonce = await apiOk(url, 'POST', '/v1/auth/nonce')
  const place = [nonce['domain'], nonce['uri'], nonce['chain_id']]
  assert.deepEqual(place, ['gateway.example.com', 'https://gateway.example.com', CHAIN_ID])
})
