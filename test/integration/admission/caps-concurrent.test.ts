import assert from 'node:assert/strict'
import { Agent } from 'node:http'
import { after, before, describe, test } from 'node:test'
import { awayFromTheHour } from '../../support/awayFromTheHour.ts'
import { AgentClient } from '../../support/clients/agentClient.ts'
import { api, newOwner } from '../../support/clients/apiClient.ts'
import { assertError, chat, type ErrorBody, type Receipt } from '../../support/clients/chatClient.ts'
import { postBy } from '../../support/clients/socketClient.ts'
import { itemOf } from '../../support/present.ts'
import { rounds } from '../../support/rounds.ts'
import { type Stack, startStack, type TestAccount } from '../../support/stack.ts'

const SERVED = 10
const SUB_KEYS = 5
const OUTPUT_TOKENS = 10
// 'hello' is held as 3 tokens, with 8 for the message and 16 for the request.
const PROMPT_TOKENS = 27
const HOLD_UNITS = PROMPT_TOKENS * 1_000 + OUTPUT_TOKENS * 2_000
/** Covers exactly ten requests: 0.00047 USD. */
const EXACT = String((SERVED * HOLD_UNITS) / 1e9)

interface Answer {
  readonly status: number
  readonly code: string | null
  readonly chargedUnits: number
}

const REQUESTS = rounds({ short: 500, long: 1_000 })
/** One proxy alone has no race between leases, so that fewer requests show as much. */
const requestsOf = ({ baseUrls }: Stack): number => (baseUrls.length > 1 ? REQUESTS : REQUESTS / 4)

/** One request; half of them are streamed. */
async function send(baseUrl: string, agent: Agent, apiKey: string, stream: boolean): Promise<Answer> {
  const body = {
    model: 'test/exact',
    stream,
    max_tokens: OUTPUT_TOKENS,
    messages: [{ role: 'user', content: 'hello' }],
  }
  const { status, text } = await postBy(agent, `${baseUrl}/v1/chat/completions`, apiKey, body)
  return read(status, text, stream)
}

function read(status: number, text: string, stream: boolean): Answer {
  if (status !== 200) return { status, code: (JSON.parse(text) as ErrorBody).error.code, chargedUnits: 0 }
  const receipt = stream
    ? (JSON.parse(/^: receipt (.*)$/m.exec(text)?.[1] ?? '') as Receipt)
    : (JSON.parse(text) as { receipt: Receipt }).receipt
  assert.deepEqual([receipt.status, receipt.hold.units], ['ok', String(HOLD_UNITS)])
  return { status, code: null, chargedUnits: Number(receipt.cost.units) }
}

/** Sends the requests by these keys in turn, to the proxies in turn. */
async function sendAll({ baseUrls }: Stack, apiKeys: readonly string[], requests: number): Promise<Answer[]> {
  const agent = new Agent({ keepAlive: true, maxSockets: requests })
  const one = (i: number): Promise<Answer> => {
    const place = Math.floor(i / 2) % baseUrls.length
    return send(itemOf(baseUrls, place), agent, itemOf(apiKeys, i % apiKeys.length), i % 2 === 0)
  }
  try {
    return await Promise.all(Array.from({ length: requests }, (_, i) => one(i)))
  } finally {
    agent.destroy()
  }
}

async function balanceUnits(stack: Stack, { accountId }: TestAccount): Promise<number> {
  const { json } = await stack.cli('account', 'show', accountId)
  const { balance } = json as { balance: { coin: string; credits: string } }
  return Math.round((Number(balance.coin) + Number(balance.credits)) * 1e9)
}

/** Exactly ten of the requests are served and charged in full; all others are refused with this code. */
async function servesTen(stack: Stack, apiKeys: readonly string[], code: string): Promise<void> {
  const requests = requestsOf(stack)
  const answers = await sendAll(stack, apiKeys, requests)
  const served = answers.filter((answer) => answer.status === 200)
  const refused = answers.filter((answer) => answer.status === 402 && answer.code === code)
  assert.deepEqual([served.length, refused.length], [SERVED, requests - SERVED])
  for (const { chargedUnits } of served) assert.equal(chargedUnits, HOLD_UNITS)
  await stack.settled()
}

/** As `servesTen`; the account pays for just these. */
async function exactlyTen(
  stack: Stack,
  account: TestAccount,
  code: string,
  startUnits: number,
  apiKeys: readonly string[] = [account.apiKey],
): Promise<void> {
  await servesTen(stack, apiKeys, code)
  assert.equal(await balanceUnits(stack, account), startUnits - SERVED * HOLD_UNITS)
}

for (const proxies of [1, 2]) {
  const workers = proxies
  describe(`concurrent requests, proxies: ${proxies}, workers of each: ${workers}`, () => {
    let stack: Stack
    let agents: AgentClient

    before(async () => {
      stack = await startStack({
        workers,
        proxies,
        // The charge is the hold to the last unit, and no request ends before all have arrived.
        catalog: {
          models: [{ id: 'test/exact', upstream: `mock,ttft=300,prompt=${PROMPT_TOKENS},completion=${OUTPUT_TOKENS}` }],
        },
      })
      agents = new AgentClient(stack.baseUrl, await newOwner(stack, { coin: '5' }))
    })

    after(() => stack.finish())

    test('a balance for ten serves ten and ends at 0', async () => {
      const account = await stack.createAccount({ credits: EXACT })
      await exactlyTen(stack, account, 'insufficient_balance', SERVED * HOLD_UNITS)
      assert.equal(await balanceUnits(stack, account), 0)
    })

    test('credits for four and coin for six serve ten and end at 0', async () => {
      const account = await stack.createAccount({ credits: '0.000188', coin: '0.000282' })
      await exactlyTen(stack, account, 'insufficient_balance', SERVED * HOLD_UNITS)
    })

    const caps = [
      ['--cap-hour', 'spend_limit_exceeded'],
      ['--cap-day', 'spend_limit_exceeded'],
      ['--cap-month', 'spend_limit_exceeded'],
      ['--budget', 'key_budget_exceeded'],
    ] as const
    for (const [flag, code] of caps) {
      test(`${flag} for ten serves ten`, async () => {
        await awayFromTheHour()
        const account = await stack.createAccount({ credits: '1', args: [flag, EXACT] })
        await exactlyTen(stack, account, code, 1e9)
      })

      test(`${flag} for ten on a platform key serves ten over its sub-keys`, async () => {
        await awayFromTheHour()
        const account = await stack.createAccount({ credits: '1', args: ['--platform', flag, EXACT] })
        const made = await Promise.all(
          Array.from({ length: SUB_KEYS }, () =>
            api<{ api_key: string }>(stack.baseUrl, 'POST', '/v1/platform/keys', { token: account.apiKey, body: {} }),
          ),
        )
        const apiKeys = made.map(({ body }) => body.api_key)
        await exactlyTen(stack, account, code, 1e9, apiKeys)
        const refused = await chat(stack.baseUrl, apiKeys[0] ?? '', { model: 'test/exact', max_tokens: OUTPUT_TOKENS })
        assertError(refused, 402, code)
        assert.match(refused.text, /platform key's/)
      })
    }

    const policies = [
      ['hourly cap', { caps: { hour: EXACT } }, 'spend_limit_exceeded', '1'],
      ['budget', { budget: EXACT }, 'key_budget_exceeded', '1'],
      ['coin', {}, 'insufficient_balance', EXACT],
    ] as const
    for (const [what, policy, code, coin] of policies) {
      test(`an agent whose ${what} covers ten requests is served ten`, async () => {
        await awayFromTheHour()
        // The cap of a single request has each of them pass the agent's policy first.
        const { slug, key } = await agents.make({ ...policy, request_cap: String(HOLD_UNITS / 1e9) })
        await agents.fund(slug, coin)
        await servesTen(stack, [key], code)
        const left = String((Number(coin) * 1e9 - SERVED * HOLD_UNITS) / 1e9)
        assert.deepEqual(await agents.coinOf(slug), [left, left])
      })
    }
  })
}
