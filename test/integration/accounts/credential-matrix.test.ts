// Goal: every route that is served says the right thing to every kind of credential, and gives nobody what is someone
// else's. Method: the proxy's own table of routes against the rows of credentialRows.ts, all of them over HTTP; a route
// without a row fails. Each answer has the schema that the OpenAPI document says.
import assert from 'node:assert/strict'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, test } from 'node:test'
import { type Dispatcher, request } from 'undici'
import { newSecret } from '../../../contract/wire/ids.ts'
import { servedRoutes } from '../../../proxy/servedRoutes.ts'
import { assertDescribed, describedPath } from '../../support/answerSchemas.ts'
import { type ApiAnswer, api, apiOk, type Json, newOwner, type Owner, signIn } from '../../support/clients/apiClient.ts'
import { chat, completion } from '../../support/clients/chatClient.ts'
import { generate, videoModel } from '../../support/clients/videoClient.ts'
import { KINDS, type Kind, type Name, ROWS } from '../../support/credentialRows.ts'
import { type Stack, startStack, until } from '../../support/stack.ts'

let stack: Stack
let url: string
let owner: Owner
let other: Owner
let agentKey: string
let endpoint: Server
let made = 0

before(async () => {
  const rates = { apiRequestsPerMinute: 600_000, apiRequestBurst: 100_000, signInRequestsPerMinute: 600_000 }
  const more = { signInRequestBurst: 100_000, providerChecksPerMinute: 10_000, keysPerAccountMax: 10_000 }
  const catalog = {
    models: [
      { id: 'test/small', endpoints: ['chat', 'completions', 'messages', 'responses'] },
      videoModel('test/video', 'mock'),
    ],
  }
  const limits = {
    ...rates,
    ...more,
    sessionsPerWalletMax: 1_000,
    signatureFailuresPerMinute: 600_000,
    videoJobsPerKeyMax: 100,
    videoPollMinMs: 20,
  }
  stack = await startStack({ catalog, limits, env: { SLUICE_PRIVATE_PROVIDERS: '1' } })
  url = stack.baseUrl
  owner = await newOwner(stack, { coin: '50', credits: '50' })
  other = await newOwner(stack, { credits: '50' })
  const platform = await apiOk<{ api_key: string }>(url, 'POST', '/v1/account/keys', {
    token: owner.token,
    body: { platform: true },
  })
  owner = { ...owner, apiKey: platform.api_key }
  const body = { slug: 'an-agent', approval_threshold: '0' }
  await apiOk(url, 'POST', '/v1/agents', { token: owner.token, body })
  await apiOk(url, 'POST', '/v1/agents/an-agent/fund', { token: owner.token, body: { amount: '1' } })
  endpoint = createServer((_request, response) => response.end('{"data":[{"id":"m"}]}'))
  await new Promise<void>((listening) => endpoint.listen(0, '127.0.0.1', listening))
  await MAKE.receipt()
  await until('a checkpoint is signed', async () => (await api(url, 'GET', '/v1/log/checkpoint')).status === 200)
})
after(async () => {
  endpoint.close()
  await stack.finish()
})

const create = async (path: string, token: string, body: Json = {}): Promise<Json> => {
  const answer = await api(url, 'POST', path, { token, body })
  assert.ok(answer.status < 300, `${path}: ${answer.text}`)
  return answer.body
}

/** Makes what a path names, for the owner. */
const MAKE: Readonly<Record<Name, () => Promise<unknown>>> = {
  key: async () => (await create('/v1/account/keys', owner.token))['id'],
  receipt: async () => {
    const { receipt } = completion(await chat(url, owner.apiKey, { model: 'test/small', max_tokens: 1 }))
    // Its key's read waits for the book. Until a request is in the book, other keys are told that there is none.
    await apiOk(url, 'GET', `/v1/receipts/${receipt.request_id}`, { token: owner.apiKey })
    return receipt.request_id
  },
  link: async () => (await create('/v1/links', owner.token, { amount: '0.01' }))['id'],
  linkToken: async () => (await create('/v1/links', owner.token, { amount: '0.01' }))['token'],
  approval: async () => {
    const body = { to: 'owner', amount: '0.001', note: `payment ${made++}` }
    const { approval, id } = await create('/v1/agents/an-agent/pay', await keyOfAgent(), body)
    return (approval as Json | undefined)?.['id'] ?? id
  },
  subKey: async () => (await create('/v1/platform/keys', owner.apiKey))['id'],
  provider: async () => {
    const { port } = endpoint.address() as AddressInfo
    const body = { name: 'p', base_url: `http://127.0.0.1:${port}/${made++ % 10}` }
    return (await create('/v1/providers', owner.token, body))['id']
  },
  clip: async () => {
    const id = String(await MAKE.video())
    await until('the clip is made', async () => {
      return (await api(url, 'GET', `/v1/videos/${id}`, { token: owner.apiKey })).body['status'] === 'completed'
    })
    return id
  },
  video: async () => (JSON.parse((await generate(url, owner.apiKey, { model: 'test/video' })).text) as Json)['id'],
}

/** The agent's key; the rows issue others. */
async function keyOfAgent(): Promise<string> {
  const isGone = agentKey === undefined || (await api(url, 'GET', '/v1/agents', { token: agentKey })).status === 401
  if (isGone) agentKey = String((await create('/v1/agents/an-agent/key', owner.token))['api_key'])
  return agentKey
}

/** Sessions are made anew, because a row signs out. */
async function tokenOf(kind: Kind): Promise<string> {
  switch (kind) {
    case 'none':
      return ''
    case 'wrong key':
      return newSecret('sk')
    case 'wrong session':
      return newSecret('ses')
    case 'read token':
      return newSecret('rt')
    case 'other key':
      return other.apiKey
    case 'other session':
      return signIn(url, other.wallet)
    case 'key':
      return owner.apiKey
    case 'session':
      return signIn(url, owner.wallet)
  }
}

function outcome({ status, body }: ApiAnswer): string {
  const { error } = body as { error?: { code: string | null } | null }
  return error === undefined || error === null ? String(status) : `${status} ${error.code ?? '-'}`
}

test('every route that is served has a row, and every row is served', () => {
  const named = Object.keys(ROWS).map((name) => name.split(' ').slice(0, 2).join(' '))
  assert.deepEqual([...new Set(named)].sort(), servedRoutes().sort())
})

for (const [name, { path, body, answers }] of Object.entries(ROWS)) {
  test(`${name}`, async () => {
    const [method = '', pattern = ''] = name.split(' ')
    const found: Record<string, string> = {}
    for (const kind of KINDS) {
      let target = path ?? pattern
      const [, wanted] = /<(\w+)>/.exec(target) ?? []
      if (wanted !== undefined) target = target.replace(/<\w+>/, String(await MAKE[wanted as Name]()))
      const answer = await api(url, method, target, {
        token: await tokenOf(kind),
        ...(body === undefined ? {} : { body }),
      })
      found[kind] = outcome(answer)
      const isJson = answer.headers.get('content-type')?.includes('json') === true
      if (isJson && answer.status < 300) {
        assertDescribed(method, describedPath(method, target), answer.status, answer.body)
      }
      const isRefused = answers[kind].startsWith('40')
      if (isRefused) assert.deepEqual(Object.keys(answer.body).sort(), ['error', 'request_id', 'type'], answer.text)
      if (found[kind]?.startsWith('401')) assert.match(answer.headers.get('www-authenticate') ?? 'Bearer', /Bearer/)
    }
    assert.deepEqual(found, answers)
  })
}

test('every route rejects two credentials, of any kinds', async () => {
  const session = await signIn(url, owner.wallet)
  const key = `Bearer ${owner.apiKey}`
  const payment = Buffer.from('{"x402Version":2}').toString('base64')
  const pairs: Readonly<Record<string, string[]>> = {
    'a key and an x402 payment': ['authorization', key, 'payment-signature', payment],
    'an x-api-key and an x402 payment': ['x-api-key', owner.apiKey, 'payment-signature', payment],
    'an x-api-key and an MPP payment': ['x-api-key', owner.apiKey, 'authorization', 'Payment abc'],
    'a key and an MPP payment': ['authorization', key, 'authorization', 'Payment abc'],
    'a key and an MPP payment in one header': ['authorization', `${key}, Payment abc`],
    'payments of both kinds': ['authorization', 'Payment abc', 'payment-signature', payment],
    'two x402 payments': ['payment-signature', payment, 'payment-signature', `${payment}=`],
    'a session and a key': ['authorization', `Bearer ${session}`, 'x-api-key', owner.apiKey],
    'a session and an x402 payment': ['authorization', `Bearer ${session}`, 'payment-signature', payment],
    'a read token and a key': ['authorization', `Bearer ${newSecret('rt')}`, 'x-api-key', owner.apiKey],
    'two keys': ['authorization', key, 'x-api-key', other.apiKey],
    'two keys in one header': ['x-api-key', `${owner.apiKey}, ${other.apiKey}`],
    'two x-api-keys': ['x-api-key', owner.apiKey, 'x-api-key', other.apiKey],
  }
  // The Model Context Protocol has a code of its own for a payment beside a key, and its own shape of errors.
  for (const route of servedRoutes().filter((name) => name !== 'POST /mcp')) {
    const [method = '', path = ''] = route.split(' ')
    for (const [pair, headers] of Object.entries(pairs)) {
      const answer = await request(url + path.replaceAll(/[{}*]/g, 'x'), {
        method: method as Dispatcher.HttpMethod,
        headers: [...headers, 'content-type', 'application/json'],
        body: method === 'GET' ? null : '{}',
      })
      const { error } = (await answer.body.json()) as { error?: { code?: string } }
      assert.deepEqual([answer.statusCode, error?.code], [400, 'payment_conflict'], `${route}: ${pair}`)
    }
  }
})

test('lists never contain resources of another account', async () => {
  await until('the receipts are booked', async () => {
    const { data } = await apiOk<{ data: unknown[] }>(url, 'GET', '/v1/receipts', { token: owner.apiKey })
    return data.length > 0
  })
  for (const path of [
    '/v1/receipts',
    '/v1/account/keys',
    '/v1/links',
    '/v1/agents',
    '/v1/account/activity',
    '/v1/account/usage',
    '/v1/referrals',
  ]) {
    const { text } = await api(url, 'GET', path, { token: await tokenOf('other session') })
    assert.ok(!text.includes(owner.accountId) && !text.includes('an-agent'), path)
  }
})
