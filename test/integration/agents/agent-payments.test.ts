// Goal: coin goes from owners to agents and between agents exactly as asked for, once, within the caps of their keys.
// Method: a whole stack with two proxy processes; owners and agents over HTTP; every test ends with the audit.
import assert from 'node:assert/strict'
import { after, afterEach, before, test } from 'node:test'
import { awayFromTheHour } from '../../support/awayFromTheHour.ts'
import { AgentClient } from '../../support/clients/agentClient.ts'
import { assertRefused, type Json, newOwner, type Owner } from '../../support/clients/apiClient.ts'
import { assertError, type ErrorBody } from '../../support/clients/chatClient.ts'
import { type Stack, startStack } from '../../support/stack.ts'

let stack: Stack
let owner: Owner
let agents: AgentClient

before(async () => {
  const rates = { apiRequestsPerMinute: 60_000, apiRequestBurst: 10_000 }
  stack = await startStack({ workers: 2, catalog: { models: [{ id: 'test/small' }] }, limits: rates })
  owner = await newOwner(stack, { coin: '100' })
  agents = new AgentClient(stack.baseUrl, owner)
})

afterEach(async () => {
  await stack.settled()
  await stack.audit()
})
after(() => stack.finish())

test('payments between agents are made once for an Idempotency-Key', async () => {
  const [from, to] = [await agents.make(), await agents.make()]
  await agents.fund(from.slug, '10')
  const pay = (body: Json, headers = {}) => agents.post(`/v1/agents/${from.slug}/pay`, from.key, body, headers)
  const once = { 'idempotency-key': 'invoice-7' }
  const answers = await Promise.all(
    Array.from({ length: 200 }, () => pay({ to: to.slug, amount: '3', note: 'invoice 7' }, once)),
  )
  const done = answers.filter(({ status }) => status === 201)
  assert.ok(done.length > 0)
  assert.equal(new Set(done.map(({ body }) => body['id'])).size, 1)
  // On a slow machine some of so many may be told to come back; they have changed nothing.
  for (const answer of answers) if (answer.status !== 201) assertRefused(answer, 503, 'admission_unavailable')
  assert.deepEqual(
    [await agents.coinOf(from.slug), await agents.coinOf(to.slug)],
    [
      ['7', '7'],
      ['3', '3'],
    ],
  )
  assertRefused(await pay({ to: to.slug, amount: '4', note: 'invoice 7' }, once), 409, 'idempotency_conflict')
  // The key belongs to the account, and the agent's is another one than its owner's.
  const byOwner = await agents.post(`/v1/agents/${from.slug}/pay`, owner.token, { to: to.slug, amount: '1' }, once)
  assert.equal(byOwner.status, 201, byOwner.text)
  assert.deepEqual(
    [await agents.coinOf(from.slug), await agents.coinOf(to.slug)],
    [
      ['6', '6'],
      ['4', '4'],
    ],
  )
  const back = await pay({ to: 'owner', amount: '6' })
  assert.equal(back.status, 201)
  assert.deepEqual(await agents.coinOf(from.slug), ['0', '0'])
  for (const short of [await pay({ to: to.slug, amount: '0.1' }), await agents.fund(from.slug, '1000')]) {
    assertRefused(short, 402, 'insufficient_balance')
    // Only a link above the balance has a class of its own.
    assert.equal((short.body as unknown as ErrorBody).error.type, 'insufficient_quota')
  }
  assertRefused(await pay({ to: from.slug, amount: '0.1' }), 400, null, 'to')
  assertRefused(await pay({ to: 'no-such-agent', amount: '0.1' }), 404, 'agent_not_found', 'to')
  assertRefused(await pay({ to: to.slug, amount: '0' }), 400, null, 'amount')
  assertRefused(await pay({ to: to.slug }), 400, null, 'amount')
})

test('funding twice with one Idempotency-Key moves coin once', async () => {
  const { slug } = await agents.make()
  const once = { 'idempotency-key': 'fund-1' }
  const [first, second] = [
    await agents.fund(slug, '1', owner.token, once),
    await agents.fund(slug, '1', owner.token, once),
  ]
  assert.deepEqual([first.status, second.status, second.text], [201, 201, first.text])
  assert.equal(second.headers.get('idempotent-replayed'), 'true')
  assertRefused(await agents.fund(slug, '2', owner.token, once), 409, 'idempotency_conflict')
  assert.deepEqual(await agents.coinOf(slug), ['1', '1'])
})

test("payments count against the caps of the agent's key, as requests do", async () => {
  await awayFromTheHour()
  const [from, to] = [await agents.make({ caps: { hour: '3' }, budget: '4', request_cap: '2' }), await agents.make()]
  await agents.fund(from.slug, '10')
  const pay = (amount: string) => agents.post(`/v1/agents/${from.slug}/pay`, from.key, { to: to.slug, amount })
  assertRefused(await pay('2.5'), 402, 'request_cap_exceeded')
  const many = await Promise.all(Array.from({ length: 6 }, () => pay('1')))
  assert.equal(many.filter(({ status }) => status === 201).length, 3)
  for (const answer of many) if (answer.status !== 201) assertRefused(answer, 402, 'spend_limit_exceeded')
  assertError(await agents.ask(from.key), 402, 'spend_limit_exceeded')
  await agents.patch(from.slug, { caps: { hour: null } })
  assertRefused(await pay('1.5'), 402, 'key_budget_exceeded')
  assert.equal((await pay('1')).status, 201)
  assert.deepEqual(
    [await agents.coinOf(from.slug), await agents.coinOf(to.slug)],
    [
      ['6', '6'],
      ['4', '4'],
    ],
  )
})
