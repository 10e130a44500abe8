// Goal: clients of every format get through whole gateways what a model meant by a crooked stream, are charged for the usage
// that it reported, and the book holds. Method: the plans and twists of `test/wires/crooked.fuzz.test.ts`, some at a time, over
// two proxies; `SLUICE_FUZZ_SEED` repeats a run.
import assert from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import { after, before, test } from 'node:test'
import fc from 'fast-check'
import type { Receipt } from '../support/clients/chatClient.ts'
import { post } from '../support/clients/responsesClient.ts'
import { itemOf, present } from '../support/present.ts'
import { ScriptedProvider } from '../support/providers/scriptedProvider.ts'
import { type Stack, startStack } from '../support/stack.ts'
import { crookedStream, type Plan, plans, type Twist, twists } from '../support/wires/crookedStream.ts'
import { crookedText, textPlans } from '../support/wires/crookedText.ts'
import { assertMeant, assertTextMeant } from '../support/wires/meant.ts'
import { readCompletion, strictClients } from '../support/wires/strictClients.ts'

const STREAMS = 10_000
const AT_ONCE = 20
const MODEL = 'test/crooked'
const OUTPUT_MAX = 16_384
const CREDITS = 1_000
const UNITS_PER_USD = 1e9
/** Units per token, by the test's catalog. */
const PRICE = { prompt: 1_000, output: 2_000 }

const messages = (content: string) => ({ messages: [{ role: 'user', content }], max_tokens: OUTPUT_MAX })
const FORMATS = {
  chat: { path: '/v1/chat/completions', body: messages },
  messages: { path: '/v1/messages', body: messages },
  responses: { path: '/v1/responses', body: (input: string) => ({ input, max_output_tokens: OUTPUT_MAX }) },
  completions: { path: '/v1/completions', body: (prompt: string) => ({ prompt, max_tokens: OUTPUT_MAX }) },
}
type Format = keyof typeof FORMATS

interface Case {
  readonly format: Format
  readonly plan: Plan
  readonly twist: Twist
}

const cases: fc.Arbitrary<Case> = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({ format: fc.constantFrom('chat', 'messages', 'responses'), plan: plans, twist: twists }),
  },
  { weight: 1, arbitrary: fc.record({ format: fc.constant('completions' as const), plan: textPlans, twist: twists }) },
)

let stack: Stack
let provider: ScriptedProvider
let accountId: string
let apiKey: string
/** The streams that are asked for now, by the number in their prompt. */
const asked = new Map<number, readonly Buffer[]>()
let last = 0
let chargedUnits = 0

before(async () => {
  provider = await ScriptedProvider.start({
    crooked: (response, body) => {
      const number = Number(/stream (\d+)/.exec(JSON.stringify(body['messages'] ?? body['prompt']))?.[1])
      send(response, present(asked.get(number)))
    },
  })
  stack = await startStack({
    proxies: 2,
    catalog: {
      providers: [{ id: 'crooked', base_url: provider.url }],
      models: [{ id: MODEL, endpoints: Object.keys(FORMATS), routes: [{ provider: 'crooked', model: 'crooked' }] }],
    },
  })
  const account = await stack.createAccount({ credits: String(CREDITS) })
  accountId = account.accountId
  apiKey = account.apiKey
})

after(async () => {
  await stack.finish()
  await provider.stop()
})

function send(response: ServerResponse, pieces: readonly Buffer[]): void {
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  for (const bytes of pieces) response.write(bytes)
  response.end()
}

async function check({ format, plan, twist }: Case, baseUrl: string): Promise<void> {
  const number = ++last
  asked.set(number, format === 'completions' ? crookedText(plan, twist) : crookedStream(plan, twist))
  const { path, body } = FORMATS[format]
  const reply = await post(baseUrl, path, apiKey, { model: MODEL, stream: true, ...body(`stream ${number}`) })
  asked.delete(number)
  assert.equal(reply.status, 200, reply.text)
  if (format === 'completions') assertTextMeant(readCompletion(reply.text), plan, twist)
  else
    assertMeant(
      strictClients[format](reply.text, twist.stopsOften),
      plan,
      twist,
      present(reply.headers.get('x-request-id') ?? undefined),
    )
  const receipt = JSON.parse(present(/^: receipt (.*)$/m.exec(reply.text)?.[1])) as Receipt
  const { prompt_tokens: prompt, completion_tokens: output } = receipt.usage
  const due = plan.usage.prompt_tokens * PRICE.prompt + plan.usage.completion_tokens * PRICE.output
  assert.deepEqual(
    [receipt.status, receipt.usage_source, prompt, output, receipt.cost.units],
    ['ok', 'reported', plan.usage.prompt_tokens, plan.usage.completion_tokens, String(due)],
  )
  chargedUnits += due
}

test(`${STREAMS} crooked streams mean the same to clients of all formats, and are charged as reported`, async () => {
  const seed = process.env['SLUICE_FUZZ_SEED']
  await fc.assert(
    fc.asyncProperty(fc.array(cases, { minLength: AT_ONCE, maxLength: AT_ONCE, size: 'max' }), async (streams) => {
      await Promise.all(streams.map((each, i) => check(each, itemOf(stack.baseUrls, i % 2))))
    }),
    {
      numRuns: STREAMS / AT_ONCE,
      endOnFailure: true,
      includeErrorInReport: true,
      ...(seed !== undefined && { seed: Number(seed) }),
    },
  )
  await stack.settled()
  const { json } = await stack.cli('account', 'show', accountId)
  const { balance } = json as { balance: { credits: string } }
  assert.equal(Math.round(Number(balance.credits) * UNITS_PER_USD), CREDITS * UNITS_PER_USD - chargedUnits)
})
