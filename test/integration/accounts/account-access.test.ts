// Goal: every route of the account API lets in who it is for and nobody else, with the right status and code. Method: every
// route of the table against every kind of credential, over HTTP.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { request } from 'undici'
import type { ApiAuth } from '../../../contract/api/route.ts'
import { API_ROUTES } from '../../../contract/api/routes.ts'
import { newSecret } from '../../../contract/wire/ids.ts'
import {
  type ApiAnswer,
  api,
  apiOk,
  assertRefused,
  newOwner,
  newWallet,
  type Owner,
  signIn,
} from '../../support/clients/apiClient.ts'
import { type Stack, startStack } from '../../support/stack.ts'

let stack: Stack
let url: string
let owner: Owner
let unlinked: string
let pausedKey: string

before(async () => {
  const rates = { signInRequestsPerMinute: 60_000, signInRequestBurst: 10_000 }
  stack = await startStack({ limits: { ...rates, apiRequestsPerMinute: 60_000, apiRequestBurst: 10_000 } })
  url = stack.baseUrl
  owner = await newOwner(stack)
  unlinked = await signIn(url, newWallet())
  const body = { paused: true }
  const { api_key } = await apiOk<{ api_key: string }>(url, 'POST', '/v1/account/keys', { token: owner.token, body })
  pausedKey = api_key
  await apiOk(url, 'POST', '/v1/agents', { token: owner.token, body: { slug: 'an-agent' } })
})

after(() => stack.finish())

type Refusal = readonly [status: number, code: string]
type Kind = 'none' | 'nonsense' | 'unknown key' | 'unknown session' | 'read token' | 'key' | 'paused key' | 'unlinked'

const NO_SESSION: Refusal = [401, 'invalid_session']
const NO_KEY: Refusal = [401, 'invalid_api_key']
const WRONG: Refusal = [403, 'wrong_credential']

/** What each kind of route says to each kind of credential; undefined lets it in. */
const EXPECTED: Readonly<
  Record<'sign_in' | 'session' | 'key' | 'key_or_session' | 'optional', Record<Kind, Refusal | undefined>>
> = {
  sign_in: {
    none: NO_SESSION,
    nonsense: NO_SESSION,
    'unknown key': WRONG,
    'unknown session': NO_SESSION,
    'read token': WRONG,
    key: WRONG,
    'paused key': WRONG,
    unlinked: undefined,
  },
  session: {
    none: NO_SESSION,
    nonsense: NO_SESSION,
    'unknown key': WRONG,
    'unknown session': NO_SESSION,
    'read token': WRONG,
    key: WRONG,
    'paused key': WRONG,
    unlinked: [401, 'account_not_linked'],
  },
  key: {
    none: NO_KEY,
    nonsense: NO_KEY,
    'unknown key': NO_KEY,
    'unknown session': WRONG,
    'read token': WRONG,
    key: undefined,
    'paused key': [403, 'key_paused'],
    unlinked: WRONG,
  },
  optional: {
    none: undefined,
    nonsense: NO_KEY,
    'unknown key': NO_KEY,
    'unknown session': NO_SESSION,
    'read token': WRONG,
    key: undefined,
    'paused key': [403, 'key_paused'],
    unlinked: undefined,
  },
  key_or_session: {
    none: NO_KEY,
    nonsense: NO_KEY,
    'unknown key': NO_KEY,
    'unknown session': NO_SESSION,
    'read token': WRONG,
    key: undefined,
    'paused key': [403, 'key_paused'],
    unlinked: [401, 'account_not_linked'],
  },
}

function tokenOf(kind: Kind): string {
  const made = { 'unknown key': 'sk', 'unknown session': 'ses', 'read token': 'rt' } as const
  if (kind === 'none') return ''
  if (kind === 'nonsense') return 'nonsense'
  if (kind === 'key') return owner.apiKey
  if (kind === 'paused key') return pausedKey
  if (kind === 'unlinked') return unlinked
  return newSecret(made[kind])
}

const isGuarded = (auth: ApiAuth): auth is keyof typeof EXPECTED => Object.hasOwn(EXPECTED, auth)

test('every route returns the expected status for every kind of credential', async () => {
  let checked = 0
  for (const { method, path, auth } of Object.values(API_ROUTES)) {
    if (!isGuarded(auth)) continue
    const named = path.replace('{month}', '2026-01').replace('{slug}', 'an-agent')
    const target = named.replace(/\{\w+\}/, 'key_0123456789ABCDEFGHJKMNPQRS')
    for (const [kind, refusal] of Object.entries(EXPECTED[auth]) as [Kind, Refusal | undefined][]) {
      // A session that got in would be signed out.
      if (refusal === undefined && method === 'DELETE') continue
      const body = method === 'GET' || method === 'DELETE' ? {} : { body: {} }
      const answer = await api(url, method, target, { token: tokenOf(kind), ...body })
      checked++
      if (refusal !== undefined) assertRefused(answer, ...withKind(refusal, `${method} ${path} ${kind}`, answer))
      else assert.ok(isLetIn(answer), `${method} ${path} ${kind}: ${answer.text}`)
    }
  }
  assert.ok(checked > 80, String(checked))
})

/** What says that a credential is not let in; what it may do there is another matter. */
const NOT_LET_IN = new Set([
  'invalid_session',
  'invalid_api_key',
  'wrong_credential',
  'account_not_linked',
  'not_found',
])
/** A gateway without a chain or a distributor of rewards says so to credentials that it accepts. */
const isLetIn = (answer: ApiAnswer): boolean =>
  !NOT_LET_IN.has(codeOf(answer)) || /This gateway (has no chain|pays no rewards)/.test(answer.text)
const codeOf = ({ body }: ApiAnswer): string => String((body as { error?: { code?: string } }).error?.code)

function withKind([status, code]: Refusal, name: string, answer: ApiAnswer): Refusal {
  assert.equal(answer.status, status, `${name}: ${answer.text}`)
  return [status, code]
}

test('two credentials, and other schemes, are rejected', async () => {
  const { token, apiKey } = owner
  const both = await api(url, 'GET', '/v1/account', { token, headers: { 'x-api-key': apiKey } })
  assertRefused(both, 400, 'payment_conflict')
  for (const [first, second, status, told] of [
    [apiKey, token, 400, /"payment_conflict"/],
    [token, apiKey, 400, /"payment_conflict"/],
    [token, token, 200, /"account"/],
  ] as const) {
    const headers = ['authorization', `Bearer ${first}`, 'authorization', `Bearer ${second}`]
    const answer = await request(`${url}/v1/account`, { headers })
    assert.equal(answer.statusCode, status)
    assert.match(await answer.body.text(), told)
  }
  for (const authorization of [
    `Basic ${token}`,
    token,
    'Bearer',
    `Bearer ${token} x`,
    `Bearer ${token.slice(0, -1)}`,
  ]) {
    assertRefused(await api(url, 'GET', '/v1/account', { headers: { authorization } }), 401, 'invalid_session')
  }
  assertRefused(await api(url, 'GET', '/v1/account', { headers: { 'x-api-key': apiKey } }), 403, 'wrong_credential')
  assert.equal((await api(url, 'GET', '/v1/receipts', { headers: { 'x-api-key': apiKey } })).status, 200)
  assert.equal((await api(url, 'GET', '/v1/account', { headers: { authorization: `bearer ${token}` } })).status, 200)
})

test('unsupported methods return 405 with the allowed ones, unknown paths return 404', async () => {
  for (const [method, path, allow] of [
    ['POST', '/v1/account', 'GET, HEAD, PATCH, OPTIONS'],
    ['GET', '/v1/account/keys/key_x', 'PATCH, DELETE, OPTIONS'],
    ['POST', '/v1/keys/key_x/limits', 'GET, HEAD, OPTIONS'],
    ['PUT', '/v1/account/keys', 'GET, HEAD, POST, OPTIONS'],
    ['DELETE', '/v1/statements/2026-01.csv', 'GET, HEAD, OPTIONS'],
    ['GET', '/v1/auth/nonce', 'POST, OPTIONS'],
  ] as const) {
    const answer = await api(url, method, path, { token: owner.token })
    assertRefused(answer, 405, 'method_not_allowed')
    assert.deepEqual(answer.headers.get('allow')?.split(', ').sort(), allow?.split(', ').sort(), `${method} ${path}`)
  }
  for (const path of ['/v1/account/keys/a/b', '/v1/keys/limits', '/v1/statements/.csv', '/v1/auth', '/account']) {
    assertRefused(await api(url, 'GET', path, { token: owner.token }), 404, 'not_found')
  }
  for (const { method, path } of Object.values(API_ROUTES)) {
    if (!path.includes('{')) continue
    for (const token of [owner.token, owner.apiKey]) {
      const answer = await api(url, method, path.replace(/\{\w+\}/g, 'a%00'), { token })
      assert.ok([400, 403, 404].includes(answer.status), `${method} ${path}: ${answer.text}`)
    }
  }
  const head = await fetch(`${url}/v1/account`, { method: 'HEAD', headers: { authorization: `Bearer ${owner.token}` } })
  assert.deepEqual([head.status, await head.text()], [200, ''])
  const slash = await api(url, 'GET', '/v1/account/', { token: owner.token })
  assert.equal(slash.status, 200)
})

test('a session reads the receipts of the account, a key only its own, and a single receipt needs its key', async () => {
  const answer = await api(url, 'GET', '/v1/receipts/req_0123456789ABCDEFGHJKMNPQRS', { token: owner.token })
  assertRefused(answer, 403, 'wrong_credential')
  assertRefused(await api(url, 'GET', '/v1/receipts?after=req_1', { token: owner.token }), 400, null, 'after')
  assert.equal(
    (await api(url, 'GET', '/v1/receipts', { token: owner.token })).text,
    '{"object":"list","data":[],"has_more":false}',
  )
})
