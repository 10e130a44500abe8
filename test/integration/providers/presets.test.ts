// Goal: every preset serves whole answers, streams and tool calls of a provider with its quirks, charges what the provider reported, and
// tells errors by their class. Method: the mock provider plays each of them behind the whole gateway; its own log is the reference.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { PRESETS } from '../../../control/catalog/pricing/presets.ts'
import type { ReportedUsage } from '../../../mock/main.ts'
import { QUIRKS } from '../../../mock/quirks.ts'
import {
  assertError,
  chat,
  chatStream,
  completion,
  type Receipt,
  streamedText,
} from '../../support/clients/chatClient.ts'
import { present } from '../../support/present.ts'
import { chargeOf } from '../../support/reconcile.ts'
import { type Stack, startStack, until } from '../../support/stack.ts'

const NAMES = Object.keys(PRESETS)
/** Options of the mock provider for errors of each class. */
const ERRORS = {
  e400: 'error=400',
  e401: 'error=401',
  e404: 'error=404',
  e429: 'error=429,retry_after=7',
  e500: 'error=500',
}
/** The first error may let a route rest, so that each request has a route of its own. */
const errorModel = (kind: string, stream: boolean) => `${kind}${stream ? '-streamed' : ''}`
/** By their ends in the models' ids: options of the mock provider. */
const KINDS = {
  plain: 'chunks=6,prompt=40,cached=16',
  thinking: 'chunks=6,thinking=3,reasoning=5,prompt=40',
  tool: 'tool,chunks=5,prompt=40',
  ...Object.fromEntries(
    [false, true].flatMap((stream) =>
      Object.entries(ERRORS).map(([kind, options]) => [errorModel(kind, stream), options]),
    ),
  ),
} as const
/** Members that some of the presets' providers refuse, and that the gateway therefore has to leave out or to rename. */
const MEMBERS = { max_tokens: 50, logit_bias: {}, seed: 1, user: 'somebody', service_tier: 'auto' }

let stack: Stack
let apiKey: string
before(async () => {
  stack = await startStack({
    catalog: (providerUrl) => {
      const providers = NAMES.map((preset) => ({
        id: preset,
        preset,
        base_url: providerUrl,
        data_policy: 'none',
        api_key_env: 'SLUICE_TEST_PROVIDER_KEY',
      }))
      const models = NAMES.flatMap((preset) =>
        Object.entries(KINDS).map(([kind, options]) => ({
          id: `${preset}/${kind}`,
          owned_by: preset,
          modality: 'chat',
          endpoints: ['chat'],
          context: 128_000,
          max_output: 16_384,
          price: { input: '1', output: '2', cached_input: '0.5' },
          routes: [{ provider: preset, model: `${kind},as=${preset},${options}` }],
        })),
      )
      return JSON.stringify({ coin: { usd: '1' }, providers, models })
    },
  })
  apiKey = (await stack.createAccount({ credits: '100' })).apiKey
})
after(async () => {
  await stack.finish()
})

/** The usage that a provider bills: some leave reasoning out of the count of the output. */
function billed(preset: string, usage: ReportedUsage): ReportedUsage {
  const isAdded = QUIRKS[preset]?.addedReasoning !== undefined
  return isAdded ? { ...usage, completion_tokens: usage.total_tokens - usage.prompt_tokens } : usage
}

async function assertCharged(preset: string, receipt: Receipt | null): Promise<void> {
  const id = present(receipt ?? undefined).request_id
  const lines = (await stack.provider.log()).filter((line) => line.request_id === id && line.outcome === 'complete')
  assert.equal(lines.length, 1)
  const usage = present(lines[0]?.usage ?? undefined)
  assert.equal(receipt?.cost.units, String(chargeOf(billed(preset, usage))))
}

test('each preset has a row of quirks with a source', () => {
  assert.deepEqual(Object.keys(QUIRKS).sort(), [...NAMES].sort())
  for (const { source } of Object.values(QUIRKS)) assert.match(source, /^https:\/\//)
})

test('the mock provider refuses what each of them refuses', async () => {
  for (const [name, { refuses }] of Object.entries(QUIRKS)) {
    for (const member of refuses?.members ?? []) {
      const body = { model: `mock,as=${name}`, messages: [{ role: 'user', content: 'hello' }], [member]: 1 }
      const answer = await fetch(`${stack.provider.url()}/chat/completions`, {
        method: 'POST',
        body: JSON.stringify(body),
      })
      assert.equal(answer.status, refuses?.status, `${name} ${member}`)
      assert.match(await answer.text(), new RegExp(`Unsupported parameter: ${member}`))
    }
  }
})

for (const preset of NAMES) {
  describe(preset, () => {
    test('a whole answer and a stream', async () => {
      const body = { model: `${preset}/plain`, ...MEMBERS }
      const whole = completion(await chat(stack.baseUrl, apiKey, body))
      const [choice] = whole['choices'] as { message: { content: string }; finish_reason: string }[]
      assert.deepEqual([choice?.message.content, choice?.finish_reason], [' tok0 tok1 tok2 tok3 tok4 tok5', 'stop'])
      await assertCharged(preset, whole.receipt)
      const streamed = await chatStream(stack.baseUrl, apiKey, { ...body, stream_options: { include_usage: true } })
      assert.equal(streamedText(streamed), ' tok0 tok1 tok2 tok3 tok4 tok5')
      assert.deepEqual([streamed.receipt?.status, streamed.done], ['ok', true])
      await assertCharged(preset, streamed.receipt)
      assert.equal(streamed.receipt?.cost.units, whole.receipt.cost.units)
    })

    test('reasoning', async () => {
      const body = { model: `${preset}/thinking`, ...MEMBERS }
      const whole = completion(await chat(stack.baseUrl, apiKey, body))
      await assertCharged(preset, whole.receipt)
      const streamed = await chatStream(stack.baseUrl, apiKey, body)
      assert.equal(streamed.receipt?.status, 'ok')
      await assertCharged(preset, streamed.receipt)
    })

    test('a tool call', async () => {
      const parameters = { type: 'object', properties: { city: { type: 'string' } } }
      const tools = [{ type: 'function', function: { name: 'get_weather', parameters } }]
      const body = { model: `${preset}/tool`, max_tokens: 50, tools }
      const whole = completion(await chat(stack.baseUrl, apiKey, body))
      const [choice] = whole['choices'] as { message: { tool_calls: { function: { arguments: string } }[] } }[]
      const said = JSON.parse(choice?.message.tool_calls[0]?.function.arguments ?? '') as { city: string }
      await assertCharged(preset, whole.receipt)
      const streamed = await chatStream(stack.baseUrl, apiKey, body)
      const calls = streamed.events.flatMap(
        ({ choices = [] }) =>
          (choices as { delta?: { tool_calls?: { index: number; function: { arguments?: string } }[] } }[])[0]?.delta
            ?.tool_calls ?? [],
      )
      assert.ok(calls.every(({ index }) => index === 0))
      assert.deepEqual(JSON.parse(calls.map((call) => call.function.arguments ?? '').join('')), said)
      await assertCharged(preset, streamed.receipt)
    })

    test('an error of each class', async () => {
      const ask = (kind: keyof typeof ERRORS, stream: boolean) =>
        chat(stack.baseUrl, apiKey, { model: `${preset}/${errorModel(kind, stream)}`, stream, max_tokens: 5 })
      for (const stream of [false, true]) {
        assertError(await ask('e400', stream), 400, 'upstream_rejected')
        assertError(await ask('e401', stream), 502, 'upstream_unavailable')
        assertError(await ask('e404', stream), 502, 'upstream_unavailable')
        assertError(await ask('e500', stream), 502, 'upstream_unavailable')
        const limited = await ask('e429', stream)
        assertError(limited, 429, 'rate_limited')
        assert.equal(limited.headers.get('retry-after'), '7')
      }
    })
  })
}

test('prompt tokens, and those of the cache, are counted for each key', async () => {
  const log = await stack.provider.log()
  for (const preset of NAMES) {
    const usages = log.flatMap(({ model, usage, outcome }) =>
      model.includes(`,as=${preset},`) && outcome === 'complete' && usage !== null ? [usage] : [],
    )
    const cached = usages.reduce((sum, { prompt_tokens_details: details }) => sum + (details?.cached_tokens ?? 0), 0)
    const prompt = usages.reduce((sum, { prompt_tokens: tokens }) => sum + tokens, 0)
    assert.ok(cached > 0)
    await until(`the tokens of ${preset} are counted`, async () => {
      const text = await (await fetch(stack.metricsUrl)).text()
      const of = (type: string) => tokensIn(text, `provider="${preset}",key="default"`, type)
      return of('cached_input') === cached && of('input') + of('cached_input') + of('cache_write_5m') === prompt
    })
    await until(`the command line shows the cache hit rate of ${preset}`, async () => {
      const { json } = await stack.cli('provider', 'keys', preset)
      const [key] = (json as { data: { prompt_tokens: number; cached_tokens: number; cache_hit_rate: number }[] }).data
      const rate = Math.round((cached / prompt) * 10_000) / 10_000
      return key?.prompt_tokens === prompt && key.cached_tokens === cached && key.cache_hit_rate === rate
    })
  }
})

/** The sum of a type of tokens over all series with these labels. */
function tokensIn(text: string, labels: string, type: string): number {
  const lines = text.split('\n').filter((line) => line.startsWith('sluice_model_tokens_total{'))
  const found = lines.filter((line) => line.includes(labels) && line.includes(`type="${type}"`))
  return found.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' '))), 0)
}

test('the book is whole', async () => {
  await stack.settled()
  await stack.audit()
})
