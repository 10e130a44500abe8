// Goal: only the owner of a wallet gets a session, and a session reaches the account that the wallet is linked to at that
// moment and nothing else. Method: a whole stack, and wallets of viem.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { zeroAddress } from 'viem'
import { getAddress } from 'viem/utils'
import {
  api,
  apiOk,
  assertRefused,
  newOwner,
  newWallet,
  signedMessage,
  signIn,
} from '../../support/clients/apiClient.ts'
import { type Stack, startStack } from '../../support/stack.ts'

let stack: Stack
let url: string

before(async () => {
  stack = await startStack({ limits: { signInRequestsPerMinute: 60_000, signInRequestBurst: 10_000 } })
  url = stack.baseUrl
})

after(() => stack.finish())

const verify = (body: unknown) => api(url, 'POST', '/v1/auth/verify', { body })

/** Makes an account without a wallet and a one-time code for it. */
async function accountWithCode(): Promise<{ accountId: string; code: string }> {
  const { accountId } = await stack.createAccount()
  const { code, stderr, json } = await stack.cli('wallet', 'code', accountId)
  assert.equal(code, 0, stderr)
  return { accountId, code: (json as { code: string }).code }
}

test('a wallet signs in, has no access until it is linked with a single-use code, and signs out', async () => {
  const wallet = newWallet()
  const session = await apiOk(url, 'POST', '/v1/auth/verify', { body: await signedMessage(url, wallet) })
  assert.deepEqual([session['object'], session['address'], session['account_id']], ['session', wallet.address, null])
  const lifetimeMs = Date.parse(String(session['expires_at'])) - Date.parse(String(session['created_at']))
  assert.equal(lifetimeMs, 86_400_000)
  const token = String(session['token'])
  assert.match(token, /^ses_[0-9A-Za-z]{43}$/)
  assertRefused(await api(url, 'GET', '/v1/account', { token }), 401, 'account_not_linked')
  const { accountId, code } = await accountWithCode()
  assertRefused(await api(url, 'POST', '/v1/auth/link', { token, body: { code: `${code}x` } }), 400, null, 'code')
  const linked = await apiOk(url, 'POST', '/v1/auth/link', { token, body: { code } })
  assert.deepEqual(linked, { object: 'wallet', address: wallet.address, account_id: accountId })
  assert.equal((await apiOk(url, 'GET', '/v1/account', { token }))['id'], accountId)
  const other = await signIn(url, newWallet())
  assertRefused(await api(url, 'POST', '/v1/auth/link', { token: other, body: { code } }), 400, null, 'code')
  await apiOk(url, 'DELETE', '/v1/auth/session', { token })
  assertRefused(await api(url, 'GET', '/v1/account', { token }), 401, 'invalid_session')
  assertRefused(await api(url, 'DELETE', '/v1/auth/session', { token }), 401, 'invalid_session')
})

test('a signature by another wallet, or of another text, is rejected', async () => {
  const [wallet, thief] = [newWallet(), newWallet()]
  const { message, signature } = await signedMessage(url, wallet)
  const forged = await thief.signMessage({ message })
  assertRefused(await verify({ message, signature: forged }), 400, 'bad_signature', 'signature')
  const changed = message.replace('Chain ID: 1', 'Chain ID: 2')
  assertRefused(await verify({ message: changed, signature }), 400, 'bad_signature')
  assertRefused(await verify({ message, signature: '0x1234' }), 400, 'bad_signature')
  assert.match((await verify({ message, signature: forged })).text, /ERC-1271.*no chain/)
  assert.equal((await verify({ message, signature })).status, 200)
})

test('a message is accepted once, also when sent many times concurrently', async () => {
  const body = await signedMessage(url, newWallet())
  const answers = await Promise.all(Array.from({ length: 20 }, () => verify(body)))
  assert.equal(answers.filter((answer) => answer.status === 200).length, 1)
  for (const answer of answers) if (answer.status !== 200) assertRefused(answer, 400, null, 'message')
  assertRefused(await verify(body), 400, null, 'message')
})

test('messages for another site or another time are rejected with the reason', async () => {
  const wallet = newWallet()
  const hours = (count: number) => new Date(Date.now() + count * 3_600_000)
  for (const [changes, told] of [
    [{ domain: 'evil.example' }, /domain/],
    [{ uri: 'https://evil.example/' }, /URI/],
    [{ nonce: 'a'.repeat(68) }, /Nonce/],
    [{ nonce: 'abcdefgh1234' }, /Nonce/],
    [{ issuedAt: hours(-2) }, /Issued At/],
    [{ issuedAt: hours(2) }, /Issued At/],
    [{ expirationTime: hours(-1) }, /expired/],
    [{ notBefore: hours(1) }, /not valid yet/],
    [{ address: zeroAddress }, /signature/],
  ] as const) {
    const answer = await verify(await signedMessage(url, wallet, changes))
    assert.equal(answer.status, 400, answer.text)
    assert.match(answer.text, told)
  }
  const { message, signature } = await signedMessage(url, wallet)
  assertRefused(await verify({ message: 'hello', signature }), 400, null, 'message')
  assertRefused(await verify({ message: `${message}\u0000`, signature }), 400, null, 'message')
  assertRefused(await verify({ message: message.replace('Version: 1', 'Version: 2'), signature }), 400, null, 'message')
  assertRefused(await verify({ message }), 400, null, 'signature')
  assertRefused(await verify({ message, signature: 'nonsense' }), 400, null, 'signature')
  assertRefused(await verify({ message, signature, more: 1 }), 400, null, 'more')
  assertRefused(await verify('{"message":'), 400, 'body_incomplete')
  assertRefused(await verify(`{"message":"${'a'.repeat(70_000)}"}`), 413, null)
})

test('an owner links more wallets, which can sign in, and unlinks them; the last one stays', async () => {
  const owner = await newOwner(stack)
  const second = newWallet()
  const { token } = owner
  const link = async (wallet = second) =>
    api(url, 'POST', '/v1/account/wallets', { token, body: await signedMessage(url, wallet) })
  assert.equal((await link()).status, 201)
  assert.equal((await link()).status, 201, 'linking it again changes nothing')
  const wallets = await apiOk<{ data: { address: string }[] }>(url, 'GET', '/v1/account/wallets', { token })
  assert.deepEqual(
    wallets.data.map((wallet) => wallet.address),
    [owner.wallet.address, second.address],
  )
  const secondToken = await signIn(url, second)
  assert.equal((await apiOk(url, 'GET', '/v1/account', { token: secondToken }))['id'], owner.accountId)

  const unlink = (address: string, by = token) => api(url, 'DELETE', `/v1/account/wallets/${address}`, { token: by })
  assert.equal((await unlink(getAddress(second.address))).status, 200)
  assertRefused(await api(url, 'GET', '/v1/account', { token: secondToken }), 401, 'account_not_linked')
  assertRefused(await unlink(second.address), 404, 'wallet_not_found')
  assertRefused(await unlink('0x12'), 400, 'invalid_address')
  assertRefused(await unlink(owner.wallet.address), 400, null, 'address')
  const stranger = await newOwner(stack)
  assertRefused(await unlink(stranger.wallet.address), 403, 'permission_denied')
  assertRefused(await link(stranger.wallet), 409, 'address_in_use')
  const { code } = await accountWithCode()
  assertRefused(await api(url, 'POST', '/v1/auth/link', { token, body: { code } }), 409, 'address_in_use')
  const late = await signIn(url, newWallet())
  assert.equal((await api(url, 'POST', '/v1/auth/link', { token: late, body: { code } })).status, 200, 'not used up')
})

test('a wallet that many accounts link concurrently is linked to one', async () => {
  const wallet = newWallet()
  const owners = await Promise.all(Array.from({ length: 6 }, () => newOwner(stack)))
  const answers = await Promise.all(
    owners.map(async ({ token }) =>
      api(url, 'POST', '/v1/account/wallets', { token, body: await signedMessage(url, wallet) }),
    ),
  )
  assert.deepEqual(answers.map((answer) => answer.status).sort(), [201, 409, 409, 409, 409, 409])
})

test('of two wallets unlinked concurrently, one stays', async () => {
  const owner = await newOwner(stack)
  const second = newWallet()
  const token = owner.token
  await apiOk(url, 'POST', '/v1/account/wallets', { token, body: await signedMessage(url, second) })
  const secondToken = await signIn(url, second)
  const answers = await Promise.all([
    api(url, 'DELETE', `/v1/account/wallets/${second.address}`, { token }),
    api(url, 'DELETE', `/v1/account/wallets/${owner.wallet.address}`, { token: secondToken }),
  ])
  const statuses = answers.map((answer) => answer.status)
  assert.equal(statuses.filter((status) => status === 200).length, 1, String(statuses))
})

test('a wallet has a bounded number of sessions: the oldest ends', async () => {
  const owner = await newOwner(stack)
  for (let i = 0; i < 19; i++) await signIn(url, owner.wallet)
  await apiOk(url, 'GET', '/v1/account', { token: owner.token })
  const newest = await signIn(url, owner.wallet)
  assertRefused(await api(url, 'GET', '/v1/account', { token: owner.token }), 401, 'invalid_session')
  await apiOk(url, 'GET', '/v1/account', { token: newest })
})

test('the operator links, lists and unlinks wallets, and ends sessions', async () => {
  const { accountId } = await stack.createAccount()
  const wallet = newWallet()
  const linked = await stack.cli('wallet', 'link', accountId, wallet.address)
  assert.equal(linked.code, 0, linked.stderr)
  const token = await signIn(url, wallet)
  const { json } = await stack.cli('session', 'list', accountId)
  const [session] = (json as { data: { session_id: string; address: string }[] }).data
  assert.equal(session?.address, wallet.address)
  assert.equal((await stack.cli('session', 'end', session?.session_id)).code, 0)
  assertRefused(await api(url, 'GET', '/v1/account', { token }), 401, 'invalid_session')
  const again = await signIn(url, wallet)
  assert.equal((await stack.cli('wallet', 'unlink', accountId, wallet.address)).code, 0)
  assertRefused(await api(url, 'GET', '/v1/account', { token: again }), 401, 'account_not_linked')
  assert.equal((await stack.cli('wallet', 'link', accountId, '0x1')).code, 2)
  const taken = await newOwner(stack)
  const refused = await stack.cli('wallet', 'link', accountId, taken.wallet.address)
  assert.equal(refused.code, 1)
  assert.match(refused.stderr, /another account/)
})
