// Goal: strangers keep nobody from signing in or from using a session: what wrong signatures, sessions and keys use up is the
// share of their own network. Method: a stack with small rates, and addresses as a trusted load balancer states them.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { PrivateKeyAccount } from 'viem/accounts'
import { createSiweMessage } from 'viem/siwe'
import { type ApiAnswer, api, assertRefused, newOwner, newWallet, type Owner } from '../../support/clients/apiClient.ts'
import { type Stack, startStack } from '../../support/stack.ts'

let stack: Stack
let url: string
let owner: Owner

before(async () => {
  stack = await startStack({
    // Slow rates, so that nothing of what was used up comes back while a test goes on.
    limits: {
      apiRequestsPerMinute: 12,
      signInRequestBurst: 12,
      signInRequestsPerMinute: 6,
      signatureFailuresPerMinute: 3,
    },
    env: { SLUICE_TRUSTED_PROXIES: '1' },
  })
  url = stack.baseUrl
  owner = await newOwner(stack)
})

after(() => stack.finish())

const from = (address: string) => ({ headers: { 'x-forwarded-for': address } })
const nonceFor = (address: string) => api(url, 'POST', '/v1/auth/nonce', from(address))
const readAccount = (token: string, address: string) => api(url, 'GET', '/v1/account', { token, ...from(address) })

let nonces = 0

/** Signs in from an address, with a nonce that other addresses have asked for. */
async function verify(wallet: PrivateKeyAccount, address: string, signer = wallet): Promise<ApiAnswer> {
  const nonce = String((await nonceFor(`10.200.${nonces++ >> 3}.1`)).body['nonce'])
  const { host: domain, origin: uri } = new URL(url)
  const fields = { address: wallet.address, domain, uri, nonce, version: '1', chainId: 1 } as const
  const message = createSiweMessage({ ...fields, issuedAt: new Date() })
  const body = { message, signature: await signer.signMessage({ message }) }
  return api(url, 'POST', '/v1/auth/verify', { body, ...from(address) })
}

async function untilRefused(attempt: (i: number) => Promise<ApiAnswer>, most: number): Promise<void> {
  for (let i = 0; i < most; i++) {
    const answer = await attempt(i)
    if (answer.status === 429) return assertRefused(answer, 429, 'rate_limited')
  }
  assert.fail(`${most} requests passed`)
}

test('many wrong signatures from many addresses do not prevent a wallet from signing in from another one', async () => {
  const [victim, thief] = [newWallet(), newWallet()]
  const flood = Array.from({ length: 12 }, async (_, i) => {
    for (let j = 0; j < 10; j++) await verify(j % 2 ? newWallet() : victim, `10.0.${i}.1`, thief)
  })
  const signIns = Array.from({ length: 5 }, async (_, i) => {
    const answer = await verify(victim, `10.1.${i}.1`)
    assert.equal(answer.status, 200, answer.text)
  })
  await Promise.all([...flood, ...signIns])
  assert.equal((await verify(victim, '10.1.9.1')).status, 200)
})

test('wrong signatures for a wallet are rate limited per network and wallet', async () => {
  const [victim, thief] = [newWallet(), newWallet()]
  for (let i = 0; i < 3; i++) assertRefused(await verify(victim, '10.2.0.1', thief), 400, 'bad_signature')
  assertRefused(await verify(victim, '10.2.0.1', thief), 429, 'rate_limited')
  assert.equal((await verify(newWallet(), '10.2.0.1')).status, 200)
  assert.equal((await verify(victim, '10.2.0.2')).status, 200)
})

test('invalid sessions and keys from an address do not block valid ones from there', async () => {
  const [session, key] = [`ses_${'a'.repeat(43)}`, `sk_${'a'.repeat(43)}`]
  const address = '10.3.0.1'
  assertRefused(await readAccount(session, address), 401, 'invalid_session')
  await untilRefused(() => readAccount(session, address), 20)
  const withKey = (token: string) => api(url, 'GET', '/v1/agents', { token, ...from(address) })
  assertRefused(await withKey(key), 429, 'rate_limited')
  assert.equal((await readAccount(owner.token, address)).status, 200)
  assert.equal((await withKey(owner.apiKey)).status, 200)
})

test('an IPv6 client is its /64: other addresses in it share its rate limit', async () => {
  const reads = (address: string) => api(url, 'GET', '/v1/agents/leaderboard', from(address))
  const guesses = (address: string) => readAccount(`ses_${'b'.repeat(43)}`, address)
  for (const [attempt, most] of [
    [nonceFor, 20],
    [guesses, 20],
    [reads, 120],
  ] as const) {
    await untilRefused((i) => attempt(`2001:db8:1:2:${i}::1`), most)
    assert.notEqual((await attempt('2001:db8:1:3::1')).status, 429)
  }
})
