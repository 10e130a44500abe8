// Goal: the operator does on the command line what owners do over HTTP with links, agents, approvals, referrals and
// providers, by the same rules. Method: a whole stack; commands read as JSON and as text; then the audit.
import assert from 'node:assert/strict'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, afterEach, before, test } from 'node:test'
import { CliProcess, type CliResult, callCli } from '../../support/cli.ts'
import { api, apiOk, type Json, newOwner } from '../../support/clients/apiClient.ts'
import { chat, completion } from '../../support/clients/chatClient.ts'
import { type Stack, startStack, type TestAccount } from '../../support/stack.ts'
import { Stopwatch } from '../../support/stopwatch.ts'

let stack: Stack
let env: NodeJS.ProcessEnv
let commands: CliProcess
let one: TestAccount
let two: TestAccount
let endpoint: Server

before(async () => {
  stack = await startStack({ limits: { referralPayMs: 100 }, env: { SLUICE_PRIVATE_PROVIDERS: '1' } })
  env = {
    DATABASE_URL: stack.databaseUrl,
    REDIS_URL: stack.redis.url,
    SLUICE_LIMITS: stack.env['SLUICE_LIMITS'],
    SLUICE_PRIVATE_PROVIDERS: '1',
    ENDPOINT_KEY: 'endpoint-key',
  }
  commands = new CliProcess(env)
  one = await stack.createAccount({ coin: '20' })
  two = await stack.createAccount({ coin: '1' })
  endpoint = createServer((request, response) => {
    const isKnown = request.headers.authorization === 'Bearer endpoint-key'
    response.writeHead(isKnown ? 200 : 401).end('{"data":[{"id":"m"}]}')
  })
  await new Promise<void>((listening) => endpoint.listen(0, '127.0.0.1', listening))
})
afterEach(async () => {
  await stack.settled()
  await stack.audit()
})
after(async () => {
  await commands.stop()
  endpoint.close()
  await stack.finish()
})

const cli = (...args: string[]): Promise<CliResult> => commands.run(args)

async function ok<T = Json>(...args: string[]): Promise<T> {
  const result = await cli(...args, '--json')
  assert.equal(result.code, 0, `${args.join(' ')}: ${result.stdout}${result.stderr}`)
  assert.equal(result.stderr, '')
  return result.json as T
}

async function text(...args: string[]): Promise<string> {
  const result = await cli(...args)
  assert.equal(result.code, 0, `${args.join(' ')}: ${result.stdout}${result.stderr}`)
  return result.stdout
}

async function fails(says: RegExp, code: number, ...args: string[]): Promise<void> {
  const result = await cli(...args)
  assert.match(result.stderr, says)
  assert.deepEqual([result.code, result.stdout], [code, ''])
}

const coinOf = async (account: TestAccount) =>
  (await ok<{ balance: { coin: string } }>('account', 'show', account.accountId)).balance.coin

test('links are created, listed, claimed and cancelled', async () => {
  const made = await ok<{ id: string; token: string }>('link', 'create', one.accountId, '--coin', '2.5', '--note', 'hi')
  assert.match(made.token, /^lt_/)
  assert.equal(await coinOf(one), '17.5')
  assert.match(await text('link', 'list', one.accountId), new RegExp(`LINK .*\\n${made.id}  open +2\\.5  .*hi`))
  assert.equal((await ok('link', 'claim', made.token, two.accountId))['status'], 'claimed')
  assert.equal(await coinOf(two), '3.5')
  await fails(/this link is claimed/i, 1, 'link', 'cancel', made.id)
  const second = await ok<{ id: string }>('link', 'create', one.accountId, '--coin', '1')
  assert.match(await text('link', 'cancel', second.id), /status: +cancelled/)
  assert.equal(await coinOf(one), '17.5')
  await fails(/say how much the link holds/, 2, 'link', 'create', one.accountId)
  await fails(/--coin must be a decimal amount/, 2, 'link', 'create', one.accountId, '--coin', 'x')
  await fails(/does not cover/, 1, 'link', 'create', two.accountId, '--coin', '100')
  await fails(/no link/, 1, 'link', 'cancel', 'lnk_x')
  await fails(/there is no account acct_x/, 1, 'link', 'list', 'acct_x')
  const activity = await ok<{ data: { type: string; actor: { type: string } }[] }>('account', 'activity', one.accountId)
  const entry = activity.data.find(({ type }) => type === 'link.cancelled')
  assert.equal(entry?.actor.type, 'operator')
})

test('agents are created, given a policy, funded and paid; their approvals are decided', async () => {
  const flags = ['--request-cap', '0.5', '--approval-above', '0.2', '--cap-day', '1', '--model', 'test/small']
  const made = await ok('agent', 'create', one.accountId, 'worker', ...flags, '--description', 'Works.')
  assert.deepEqual(
    [made['request_cap'], made['approval_threshold'], made['models'], made['description']],
    ['0.5', '0.2', ['test/small'], 'Works.'],
  )
  assert.match(await text('agent', 'fund', 'worker', '--coin', '3', '--note', 'start'), /^pay_.*: 3 coin \(3 USD\)/)
  const { api_key: key } = await ok<{ api_key: string }>('agent', 'key', 'worker')
  completion(await chat(stack.baseUrl, key, { model: 'test/small', max_tokens: 5 }))
  await ok('agent', 'create', two.accountId, 'friend')
  const payment = await ok<{ to: string }>('agent', 'pay', 'worker', 'friend', '--coin', '0.25')
  assert.equal(payment.to, 'friend')
  assert.equal((await ok<{ balance: { coin: string } }>('agent', 'show', 'friend')).balance.coin, '0.25')
  const updated = await ok('agent', 'update', 'worker', '--request-cap', 'none', '--paused')
  assert.deepEqual([updated['request_cap'], updated['approval_threshold'], updated['paused']], [null, '0.2', true])
  assert.match(await text('agent', 'update', 'worker', '--active'), /state: +active/)
  assert.match(await text('agent', 'list', one.accountId), /SLUG .*\nworker {2}agt_/)
  await stack.settled()
  assert.match(await text('agent', 'leaderboard', '--days', '1'), /RANK {2}SLUG .*\n +1 {2}worker/)

  const asked = await api<{ id: string }>(stack.baseUrl, 'POST', '/v1/agents/worker/pay', {
    token: key,
    body: { to: 'owner', amount: '0.3' },
  })
  assert.equal(asked.status, 202, asked.text)
  const id = asked.body.id
  assert.match(await text('approval', 'list', 'worker'), new RegExp(`${id}  pending +0\\.3  payment to owner`))
  assert.equal((await ok('approval', 'approve', 'worker', id))['status'], 'approved')
  const paid = await api(stack.baseUrl, 'POST', '/v1/agents/worker/pay', {
    token: key,
    body: { to: 'owner', amount: '0.3' },
    headers: { 'x-approval-id': id },
  })
  assert.equal(paid.status, 201, paid.text)
  await fails(/no approval/, 1, 'approval', 'deny', 'worker', 'apr_x')
  assert.match(await text('approval', 'list', 'worker', '--status', 'all'), /used/)
  await fails(/status must be pending, approved/, 1, 'approval', 'list', 'worker', '--status', 'x')
  await fails(/another agent has this slug/i, 1, 'agent', 'create', one.accountId, 'worker')
  await fails(/slug must be/, 1, 'agent', 'create', one.accountId, 'No Slug')
  await fails(/no agent/, 1, 'agent', 'show', 'nobody')
  await fails(/say what to change/, 2, 'agent', 'update', 'worker')
  await fails(/contradict each other/, 2, 'agent', 'update', 'worker', '--paused', '--active')
  await fails(/say how much/, 2, 'agent', 'fund', 'worker')
})

test('a policy changed by the operator applies within a second', async () => {
  const agent = await ok<{ slug: string }>('agent', 'create', one.accountId, 'held')
  await ok('agent', 'fund', agent.slug, '--coin', '1')
  const { api_key: key } = await ok<{ api_key: string }>('agent', 'key', agent.slug)
  completion(await chat(stack.baseUrl, key, { model: 'test/small', max_tokens: 5 }))
  const watch = new Stopwatch()
  for (const [change, status] of [
    ['--paused', 403],
    ['--active', 200],
    ['--paused', 403],
  ] as const) {
    await ok('agent', 'update', agent.slug, change)
    const answered = async () => (await chat(stack.baseUrl, key, { model: 'test/small', max_tokens: 5 })).status
    await watch.until(`it is answered ${status}`, async () => (await answered()) === status)
  }
  watch.assertWithin(1_000)
})

test('referrals are shown and attached', async () => {
  const { code } = await ok<{ code: string }>('referral', 'show', one.accountId)
  await fails(/another account/, 1, 'referral', 'attach', one.accountId, code)
  assert.match(await text('referral', 'attach', two.accountId, code), /^rfl_.*is attached/)
  await fails(/already has a referrer/, 1, 'referral', 'attach', two.accountId, code)
  assert.match(await text('referral', 'show', one.accountId), /brought: +1[\s\S]*REFERRAL .*COIN .*SINCE\nrfl_/)
  await fails(/code must be/, 1, 'referral', 'attach', one.accountId, 'x')
  const { id: agentId } = await ok<{ id: string }>('agent', 'create', one.accountId, 'unreferred')
  await fails(/an agent has no referrer/i, 1, 'referral', 'attach', agentId, code)
})

test('providers are registered with a key from the environment, listed and removed', async () => {
  const url = `http://127.0.0.1:${(endpoint.address() as AddressInfo).port}/v1`
  const args = ['provider', 'register', one.accountId, url, '--name', 'Mine']
  await fails(/asks for a key/, 1, ...args)
  await fails(/NO_SUCH_VARIABLE is not set/, 1, ...args, '--key-env', 'NO_SUCH_VARIABLE')
  const { id } = await ok<{ id: string }>(...args, '--key-env', 'ENDPOINT_KEY', '--data-policy', 'none')
  assert.match(await text('provider', 'list'), new RegExp(`${id}  Mine +${url}`))
  const listed = await apiOk<{ data: { id: string }[] }>(stack.baseUrl, 'GET', '/v1/providers')
  assert.deepEqual(
    listed.data.map((provider) => provider.id),
    [id],
  )
  assert.match(await text('provider', 'remove', id), /is off the list/)
  await fails(/no provider/, 1, 'provider', 'remove', id)
  await fails(/say how it is called/, 2, 'provider', 'register', one.accountId, url)
  const strict = { ...env, SLUICE_PRIVATE_PROVIDERS: '' }
  const refused = await callCli([...args.slice(0, 3), 'https://127.0.0.1/v1', '--name', 'x'], strict)
  assert.match(refused.stderr, /not public/)
})

test('price sheets are published and listed', async () => {
  const sheets = await ok<{ data: { version: string }[] }>('catalog', 'sheets')
  assert.equal(sheets.data[0]?.version, '1')
  assert.match(await text('catalog', 'sheets'), /SHEET {2}PUBLISHED .*PROMISED UNTIL\n +1 {2}20/)
})

test('the owner sees operator actions and the name of the operator', async () => {
  const owner = await newOwner(stack, { coin: '1' })
  await ok('link', 'create', owner.accountId, '--coin', '0.5')
  const { data } = await apiOk<{ data: { type: string; actor: Json }[] }>(
    stack.baseUrl,
    'GET',
    '/v1/account/activity',
    { token: owner.token },
  )
  const entry = data.find(({ type }) => type === 'link.created')
  assert.deepEqual(entry?.actor, { type: 'operator', id: null })
})
