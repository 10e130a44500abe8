import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { awayFromTheHour } from '../../support/awayFromTheHour.ts'
import { assertError, chat, chatStream, completion } from '../../support/clients/chatClient.ts'
import { itemOf } from '../../support/present.ts'
import { chargeOf } from '../../support/reconcile.ts'
import { type Stack, startStack } from '../../support/stack.ts'

const M = 'test/small'
// 'hello' is held as 3 tokens, with 8 for the message and 16 for the request.
const PROMPT_TOKENS = 27
const OUTPUT_TOKENS = 10
const CHARGE_UNITS = PROMPT_TOKENS * 1_000 + OUTPUT_TOKENS * 2_000
const DAY_MS = 86_400_000

interface Shown {
  readonly balance: { coin: string; credits: string }
  readonly credits: { amount: string; source: string; expires_at: string }[]
}

let stack: Stack

before(async () => {
  stack = await startStack({
    limits: { requestBurst: 5 },
    catalog: {
      providers: [{ id: 'mock' }, { id: 'keeper', data_policy: 'retained' }],
      models: [
        { id: M },
        { id: 'test/exact', upstream: `mock,prompt=${PROMPT_TOKENS},completion=${OUTPUT_TOKENS}` },
        { id: 'test/echo', upstream: 'mock,echo' },
        { id: 'test/greedy', upstream: 'mock,prompt=27,completion=16000' },
        { id: 'test/kept', routes: [{ provider: 'keeper', model: 'mock,text=kept' }] },
        {
          id: 'test/both',
          routes: [
            { provider: 'keeper', model: 'mock,text=kept' },
            { provider: 'mock', model: 'mock,text=forgotten' },
          ],
        },
      ],
    },
  })
})

after(() => stack.finish())

async function show(accountId: string): Promise<Shown> {
  await stack.settled()
  const { code, json, stderr } = await stack.cli('account', 'show', accountId)
  assert.equal(code, 0, stderr)
  return json as Shown
}

async function grant(accountId: string, usd: string, source: string, days: number): Promise<void> {
  const expires = new Date(Date.now() + days * DAY_MS).toISOString()
  const args = ['--credits', usd, '--source', source, '--expires', expires]
  const { code, stderr } = await stack.cli('account', 'credit', accountId, ...args)
  assert.equal(code, 0, stderr)
}

async function spend(apiKey: string, times: number): Promise<void> {
  for (let i = 0; i < times; i++) {
    const body = { model: 'test/exact', max_tokens: OUTPUT_TOKENS }
    const receipt =
      i % 2 === 0
        ? completion(await chat(stack.baseUrl, apiKey, body)).receipt
        : (await chatStream(stack.baseUrl, apiKey, body)).receipt
    assert.equal(receipt?.cost.units, String(CHARGE_UNITS))
  }
}

test('credits are held before coin, soonest-expiring first, and unused ones are freed again', async () => {
  const { accountId, apiKey } = await stack.createAccount({ coin: '1' })
  // 0.0001 USD covers two charges of 0.000047 and 0.000006 of the third.
  await grant(accountId, '0.0001', 'late', 30)
  await grant(accountId, '0.0001', 'soon', 2)
  await grant(accountId, '0.0001', 'middle', 10)
  const sources = async () => (await show(accountId)).credits.map(({ source, amount }) => `${source} ${amount}`)
  assert.deepEqual(await sources(), ['soon 0.0001', 'middle 0.0001', 'late 0.0001'])
  await spend(apiKey, 1)
  assert.deepEqual(await sources(), ['soon 0.000053', 'middle 0.0001', 'late 0.0001'])
  await spend(apiKey, 2)
  assert.deepEqual(await sources(), ['middle 0.000059', 'late 0.0001'])
  await spend(apiKey, 3)
  assert.deepEqual(await sources(), ['late 0.000018'])
  assert.equal((await show(accountId)).balance.coin, '1')
  // A hold far above what is charged takes coin too, and gives it back.
  completion(await chat(stack.baseUrl, apiKey, { model: 'test/exact', max_tokens: 10_000 }))
  assert.deepEqual((await show(accountId)).balance, { coin: '0.999971', credits: '0' })
})

describe('limits that end with time', { concurrency: true }, () => {
  test('expired credits are not spent', async () => {
    const { accountId, apiKey } = await stack.createAccount({ coin: '0.00001' })
    const expires = new Date(Date.now() + 12_000).toISOString()
    const { code, stderr } = await stack.cli('account', 'credit', accountId, '--credits', '1', '--expires', expires)
    assert.equal(code, 0, stderr)
    await sleep(Math.max(0, Date.parse(expires) - Date.now()) + 50)
    assertError(
      await chat(stack.baseUrl, apiKey, { model: 'test/exact', max_tokens: OUTPUT_TOKENS }),
      402,
      'insufficient_balance',
    )
  })

  test('after Retry-After the key is served again, once', async () => {
    const { apiKey } = await stack.createAccount({ args: ['--rpm', '10'] })
    const startedMs = performance.now()
    const burst = await Promise.all(Array.from({ length: 8 }, () => chat(stack.baseUrl, apiKey, { model: M })))
    const served = burst.filter(({ status }) => status === 200).length
    const cameMeanwhile = Math.floor((performance.now() - startedMs) / 6_000)
    assert.ok(served >= 5 && served <= 5 + cameMeanwhile, `${served} were served`)
    assert.equal(burst.filter(({ status }) => status === 429).length, burst.length - served)
    const seconds = Number(burst.find(({ status }) => status === 429)?.headers.get('retry-after'))
    // One may come every six seconds.
    assert.ok(seconds >= 1 && seconds <= 6, `Retry-After is ${seconds}`)
    await sleep(seconds * 1_000)
    completion(await chat(stack.baseUrl, apiKey, { model: M }))
    const again = await chat(stack.baseUrl, apiKey, { model: M })
    // On a machine that stood still the next one has come.
    if (performance.now() - startedMs < 12_000) assertError(again, 429, 'rate_limited')
  })
})

test('a key limited to 5 requests a minute serves 5 and then returns the time to retry', async () => {
  const { apiKey } = await stack.createAccount({ args: ['--rpm', '5'] })
  const startedMs = performance.now()
  for (let i = 0; i < 5; i++) completion(await chat(stack.baseUrl, apiKey, { model: M }))
  const refused = await chat(stack.baseUrl, apiKey, { model: M })
  assertError(refused, 429, 'rate_limited')
  const seconds = Number(refused.headers.get('retry-after'))
  // Every 12 seconds one more may come, counted from the first.
  const tookSeconds = (performance.now() - startedMs) / 1_000
  assert.ok(seconds >= 12 - tookSeconds && seconds <= 12, `Retry-After is ${seconds} after ${tookSeconds} s`)
  assert.equal(refused.headers.get('x-should-retry'), 'true')
})

test('rate limits apply to each key separately', async () => {
  const { accountId, apiKey } = await stack.createAccount({ args: ['--rpm', '1'] })
  const other = await stack.cli('key', 'create', accountId, '--rpm', '1')
  const { api_key: otherKey } = other.json as { api_key: string }
  completion(await chat(stack.baseUrl, apiKey, { model: M }))
  assertError(await chat(stack.baseUrl, apiKey, { model: M }), 429, 'rate_limited')
  completion(await chat(stack.baseUrl, otherKey, { model: M }))
})

test('without max_tokens the hold shrinks to the balance, and the provider gets the output limit that it covers', async () => {
  // 27 prompt tokens and 7 of output.
  const { accountId, apiKey } = await stack.createAccount({ credits: '0.000041' })
  const answer = completion(await chat(stack.baseUrl, apiKey, { model: 'test/echo' }))
  assert.equal(answer.receipt.hold.units, '41000')
  assert.equal(forwarded(answer)['max_tokens'], 7)
  assert.ok(Number(answer.receipt.cost.units) <= 41_000)
  const { credits } = (await show(accountId)).balance
  assert.equal(Math.round(Number(credits) * 1e9), 41_000 - Number(answer.receipt.cost.units))
})

test('a hold that shrank is never exceeded by the charge', async () => {
  const { accountId, apiKey } = await stack.createAccount({ credits: '0.000041' })
  const { receipt } = completion(await chat(stack.baseUrl, apiKey, { model: 'test/greedy' }))
  assert.deepEqual([receipt.cost.units, receipt.hold.units, receipt.clamped], ['41000', '41000', true])
  assert.equal((await show(accountId)).balance.credits, '0')
  assertError(await chat(stack.baseUrl, apiKey, { model: 'test/greedy' }), 402, 'insufficient_balance')
})

test('the hold also shrinks to a cap, but not below one token', async () => {
  const { apiKey } = await stack.createAccount({ args: ['--cap-day', '0.000041'] })
  const answer = completion(await chat(stack.baseUrl, apiKey, { model: 'test/echo' }))
  assert.equal(forwarded(answer)['max_tokens'], 7)
  const poor = await stack.createAccount({ credits: '0.000028' })
  assertError(await chat(stack.baseUrl, poor.apiKey, { model: M }), 402, 'insufficient_balance')
  const capped = await stack.createAccount({ args: ['--budget', '0.000028'] })
  assertError(await chat(stack.baseUrl, capped.apiKey, { model: M }), 402, 'key_budget_exceeded')
})

test('with max_tokens the hold is all or nothing', async () => {
  const { apiKey } = await stack.createAccount({ credits: '0.000041' })
  assertError(await chat(stack.baseUrl, apiKey, { model: M, max_tokens: 8 }), 402, 'insufficient_balance')
  const answer = completion(await chat(stack.baseUrl, apiKey, { model: 'test/echo', max_tokens: 7 }))
  assert.equal(forwarded(answer)['max_tokens'], 7)
})

test('a cap counts the charge of a request, not its hold', async () => {
  await awayFromTheHour()
  const { apiKey } = await stack.createAccount({ args: ['--cap-hour', '0.0001'] })
  for (let i = 0; i < 3; i++) {
    const { receipt } = completion(await chat(stack.baseUrl, apiKey, { model: M, max_tokens: 9 }))
    assert.equal(receipt.cost.units, String(chargeOf({ prompt_tokens: 9, completion_tokens: 9, total_tokens: 18 })))
  }
  // 81,000 of 100,000 units are used.
  assertError(await chat(stack.baseUrl, apiKey, { model: M, max_tokens: 9 }), 402, 'spend_limit_exceeded')
})

function forwarded(answer: Record<string, unknown>): Record<string, unknown> {
  const [choice] = answer['choices'] as { message: { content: string } }[]
  return (JSON.parse(choice?.message.content ?? '') as { body: Record<string, unknown> }).body
}

test('a key with an allowlist can use only the models on it', async () => {
  const { apiKey } = await stack.createAccount({ args: ['--model', M, '--model', 'test/exact'] })
  completion(await chat(stack.baseUrl, apiKey, { model: M }))
  completion(await chat(stack.baseUrl, apiKey, { model: 'test/exact' }))
  completion(await chat(stack.baseUrl, apiKey, { model: `${M}:cheapest` }))
  assertError(await chat(stack.baseUrl, apiKey, { model: 'test/echo' }), 403, 'model_not_allowed', 'model')
})

test('a key in no-logs mode is routed only to providers with zero retention', async () => {
  const { apiKey } = await stack.createAccount({ args: ['--no-logs'] })
  const open = await stack.createAccount({ args: ['--allow-retention'] })
  const contentOf = async (key: string, body = {}) => {
    const answer = completion(await chat(stack.baseUrl, key, { model: 'test/both', max_tokens: 1, ...body }))
    return itemOf(answer['choices'] as { message: { content: string } }[], 0).message.content
  }
  assert.equal(await contentOf(open.apiKey), 'kept')
  assert.equal(await contentOf(apiKey), 'forgotten')
  assert.equal(await contentOf(apiKey, { provider: { allow_retention: true } }), 'forgotten')
  assert.equal(await contentOf(open.apiKey, { provider: { allow_retention: false } }), 'forgotten')
  assertError(await chat(stack.baseUrl, apiKey, { model: 'test/kept' }), 404, 'no_route_for_policy')
  assertError(await chat(stack.baseUrl, apiKey, { model: M, batch: true }), 400, 'batch_unavailable')
})
