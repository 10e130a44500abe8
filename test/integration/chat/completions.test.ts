import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { assertValid } from '../../support/apiSchemas.ts'
import {
  assertError,
  type ErrorBody,
  type Receipt,
  type Reply,
  receiptOf,
  type StreamReply,
  takeApart,
} from '../../support/clients/chatClient.ts'
import { post } from '../../support/clients/responsesClient.ts'
import { itemOf } from '../../support/present.ts'
import { beginEvents, event, ScriptedProvider } from '../../support/providers/scriptedProvider.ts'
import { assertReconciled } from '../../support/reconcile.ts'
import {
  BROKEN,
  CHUNKS,
  completionsCatalog,
  idOf,
  TEXT,
  UNREPORTED,
  USELESS,
  upstream,
  WHOLE,
} from '../../support/samples/completionsCatalog.ts'
import { type Stack, startStack } from '../../support/stack.ts'

let stack: Stack
let scripted: ScriptedProvider
let apiKey: string

before(async () => {
  scripted = await ScriptedProvider.start({
    // A provider that calls its chunks something else and names none of them.
    odd: (response) => {
      beginEvents(response)
      event(response, { object: 'completion.chunk', created: 7, choices: [{ index: 0, text: 'a', token_id: 1 }] })
      const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 }
      event(response, { id: 'up', choices: [{ index: 0, text: '', finish_reason: 'eos' }], usage, model: 'odd' })
      response.end('data: [DONE]\n\n')
    },
  })
  stack = await startStack({
    limits: { idleTimeoutMs: 6_000, firstByteTimeoutMs: 6_000, connectTimeoutMs: 3_000, breakerFailures: 100 },
    catalog: completionsCatalog(scripted.url),
  })
  apiKey = (await stack.createAccount({ credits: '100' })).apiKey
})

after(async () => {
  await stack.finish()
  await scripted.stop()
})

interface Completion {
  readonly id: string
  readonly object: string
  readonly model: string
  readonly choices: { index: number; text: string; finish_reason: string | null }[]
  readonly usage?: { prompt_tokens: number; completion_tokens: number } | null
  readonly receipt: Receipt
}

const complete = (body: Record<string, unknown>) =>
  post(stack.baseUrl, '/v1/completions', apiKey, { prompt: 'hello', ...body })

function whole(reply: Reply): Completion {
  assert.equal(reply.status, 200, reply.text)
  const answer = JSON.parse(reply.text) as Completion
  assertValid('completions/CreateCompletionResponse', answer)
  assert.equal(answer.id, reply.headers.get('x-request-id'))
  assert.equal(answer.receipt.cost.units, reply.headers.get('x-cost-units'))
  return answer
}

async function streamed(body: Record<string, unknown>): Promise<StreamReply & { text: string; said: string }> {
  const reply = takeApart(await complete({ stream: true, ...body }))
  assert.equal(reply.status, 200, reply.text)
  let said = ''
  for (const chunk of reply.events as unknown as Completion[]) {
    if ('error' in chunk) continue
    assertValid('completions/Chunk', chunk)
    assert.deepEqual([chunk.id, chunk.model], [reply.headers.get('x-request-id'), body['model']])
    said += chunk.choices.map((choice) => choice.text).join('')
  }
  assert.ok(reply.done)
  return { ...reply, said }
}

/** The body that the provider was sent. */
async function asked(body: Record<string, unknown>): Promise<Record<string, unknown>> {
  const { choices } = whole(await complete(body))
  return (JSON.parse(itemOf(choices, 0).text) as { body: Record<string, unknown> }).body
}

for (const behaviour of WHOLE) {
  test(`a text is passed on whole, streamed and not: ${behaviour}`, async () => {
    const model = idOf(behaviour)
    const reply = await streamed({ model, stream_options: { include_usage: true } })
    const answer = whole(await complete({ model }))
    assert.deepEqual(
      reply.events.filter((event) => 'error' in event),
      [],
    )
    assert.equal(reply.said, itemOf(answer.choices, 0).text)
    if (behaviour !== 'donetext') assert.equal(reply.said, TEXT)
    assert.equal(itemOf(answer.choices, 0).finish_reason, 'stop')
    const last = reply.events.at(-1) as unknown as Completion
    assert.deepEqual(last.choices, [])
    assert.deepEqual(last.usage, answer.usage)
    assert.equal(reply.receipt?.status, 'ok')
    assert.equal(reply.receipt.cost.units, answer.receipt.cost.units)
    const log = await stack.provider.log()
    assertReconciled(reply.receipt, log)
    assertReconciled(answer.receipt, log)
    const unasked = await streamed({ model })
    assert.ok(unasked.events.every((chunk) => !('usage' in chunk) && (chunk['choices'] as unknown[]).length === 1))
  })
}

test('a response has the form of the format for any provider naming', async () => {
  const reply = takeApart(await complete({ model: 'test/odd', stream: true }))
  const id = reply.headers.get('x-request-id')
  const [first, last] = reply.events
  assert.deepEqual(first, {
    id,
    model: 'test/odd',
    object: 'text_completion',
    created: 7,
    choices: [{ index: 0, text: 'a', token_id: 1 }],
  })
  assert.deepEqual(last?.['id'], id)
  assert.equal(reply.receipt?.usage_source, 'reported')
})

for (const behaviour of BROKEN) {
  test(`a stream that breaks is not shown as a success: ${behaviour}`, async () => {
    const { events, receipt } = await streamed({ model: idOf(behaviour) })
    const { error } = events.at(-1) as unknown as ErrorBody
    assert.equal(error.code, 'stream_interrupted')
    assert.deepEqual([receipt?.status, receipt?.usage_source], ['partial', 'estimated'])
    assert.equal(receipt?.usage.completion_tokens, 3)
  })
}

for (const behaviour of USELESS) {
  test(`a response without output is not charged and fails over to another route: ${behaviour}`, async () => {
    for (const stream of [true, false]) {
      if (!stream && /in_stream|cut|fin/.test(behaviour)) continue
      const reply = await complete({ model: idOf(behaviour), stream })
      assertError(reply, 502, 'upstream_unavailable')
      const receipt = await receiptOf(stack.baseUrl, apiKey, reply.headers.get('x-request-id') ?? '')
      assert.deepEqual([receipt.status, receipt.cost.units], ['failed', '0'])
      const spared = await complete({ model: `${idOf(behaviour)}-spare`, stream })
      const served = stream ? takeApart(spared).receipt : whole(spared).receipt
      assert.deepEqual([served?.status, served?.usage.prompt_tokens], ['ok', 11])
    }
  })
}

test('usage that is missing or impossible is estimated', async () => {
  for (const behaviour of UNREPORTED) {
    const { receipt } = await streamed({ model: idOf(behaviour) })
    assert.deepEqual([receipt?.usage_source, receipt?.usage.completion_tokens], ['estimated', CHUNKS])
    // The echo is the gateway's own and none of the output, however long it is.
    const prompt = 'word '.repeat(1_000)
    const echoed = await streamed({ model: idOf(behaviour), echo: true, prompt })
    assert.equal(echoed.said, prompt + TEXT)
    assert.equal(echoed.receipt?.usage.completion_tokens, CHUNKS)
    const { receipt: atOnce } = whole(await complete({ model: idOf(behaviour), echo: true, prompt }))
    const { receipt: plain } = whole(await complete({ model: idOf(behaviour), prompt }))
    assert.equal(atOnce.cost.units, plain.cost.units)
  }
})

test('the echo is the prompt before the text, and is not requested from the provider', async () => {
  const reply = await streamed({ model: idOf('prompt=11'), echo: true, stream_options: { include_usage: true } })
  assert.equal(reply.said, `hello${TEXT}`)
  assert.equal(new Set(reply.events.map((chunk) => chunk['created'])).size, 1)
  const answer = whole(await complete({ model: idOf('prompt=11'), echo: true, best_of: 1, n: 1 }))
  assert.equal(itemOf(answer.choices, 0).text, `hello${TEXT}`)
  const echoed = itemOf(whole(await complete({ model: idOf('echo'), echo: true })).choices, 0).text
  assert.match(echoed, /^hello\{/)
  const seen = JSON.parse(echoed.slice('hello'.length)) as { body: Record<string, unknown> }
  assert.ok(!('echo' in seen.body))
})

test('the provider request has its own path, the provider name of the limit, and no field that changes the bill', async () => {
  const body = {
    model: idOf('echo'),
    prompt: ['say'],
    suffix: 'end',
    logprobs: 2,
    stop: ['x'],
    seed: 1,
    user: 'u',
    service_tier: 'priority',
    prompt_logprobs: 1,
    use_beam_search: true,
    min_tokens: 5,
    metadata: {},
    top_k: 3,
    temperature: null,
    tools: [],
    messages: [],
    stream_options: null,
    provider: { order: ['x'] },
  }
  const sent = { model: upstream('echo'), prompt: 'say', suffix: 'end', logprobs: 2, stop: ['x'], seed: 1, user: 'u' }
  assert.deepEqual(await asked(body), { ...sent, top_k: 3, max_tokens: 16_384 })
  // The first route's provider has no text completions, the second's has another name for the limit in chats.
  const mixed = await asked({ model: 'test/mixed', max_tokens: 50 })
  assert.deepEqual(mixed, { model: upstream('echo'), prompt: 'hello', max_tokens: 50 })
})

test('the hold covers prompt and suffix', async () => {
  const holdOf = async (body: Record<string, unknown>) =>
    Number(whole(await complete({ model: idOf('prompt=11'), max_tokens: 5, ...body })).receipt.hold.units)
  // Two bytes a token, eight tokens a message, sixteen a request, at 1 USD a million; output at 2 USD.
  assert.equal(await holdOf({ prompt: 'x'.repeat(1_000) }), (500 + 8 + 16) * 1_000 + 5 * 2_000)
  assert.equal(await holdOf({ prompt: 'x'.repeat(1_000), suffix: 'y'.repeat(100) }), (550 + 8 + 16) * 1_000 + 5 * 2_000)
})

const P = idOf('prompt=11')
const REFUSED: [name: string, body: Record<string, unknown>, status: number, code: string | null, param?: string][] = [
  ['no prompt', { model: P, prompt: null }, 400, null, 'prompt'],
  ['two prompts', { model: P, prompt: ['a', 'b'] }, 400, null, 'prompt'],
  ['no prompts', { model: P, prompt: [] }, 400, null, 'prompt'],
  ['a prompt of tokens', { model: P, prompt: [1, 2] }, 400, null, 'prompt'],
  ['prompts of tokens', { model: P, prompt: [[1, 2]] }, 400, null, 'prompt'],
  ['n of 2', { model: P, n: 2 }, 400, null, 'n'],
  ['best_of 2', { model: P, best_of: 2 }, 400, null, 'best_of'],
  ['echo with logprobs', { model: P, echo: true, logprobs: 1 }, 400, null, 'echo'],
  ['echo as text', { model: P, echo: 'yes' }, 400, null, 'echo'],
  ['logprobs of 6', { model: P, logprobs: 6 }, 400, null, 'logprobs'],
  ['logprobs of true', { model: P, logprobs: true }, 400, null, 'logprobs'],
  ['a suffix of a number', { model: P, suffix: 5 }, 400, null, 'suffix'],
  ['temperature of 3', { model: P, temperature: 3 }, 400, null, 'temperature'],
  ['max_tokens of 0', { model: P, max_tokens: 0 }, 400, null, 'max_tokens'],
  ['max_tokens above max_output', { model: P, max_tokens: 16_385 }, 400, 'context_length_exceeded', 'max_tokens'],
  [
    'a prompt beyond the window',
    { model: 'test/tiny', prompt: 'w '.repeat(9_000) },
    400,
    'context_length_exceeded',
    'prompt',
  ],
  ['a batch', { model: `${P}:batch` }, 400, 'batch_unavailable', 'model'],
  ['a model for chat alone', { model: 'test/chat-only' }, 400, 'wrong_endpoint', 'model'],
  ['an attested model', { model: 'test/attested' }, 400, 'endpoint_not_supported', 'model'],
  ['an unknown model', { model: 'test/none' }, 404, 'model_not_found', 'model'],
  ['a price below the model', { model: P, provider: { max_price: { prompt: 0.5 } } }, 404, 'no_route_for_policy'],
]

test('a rejected request states the reason, reaches no provider and takes no hold', async (t) => {
  const before = (await stack.provider.log()).length
  for (const [name, body, status, code, param] of REFUSED) {
    await t.test(name, async () => {
      assertError(await complete(body), status, code, param)
    })
  }
  assert.equal((await stack.provider.log()).length, before)
  await stack.settled()
})

test('a request that the provider rejects returns 400 to the client', async () => {
  assertError(await complete({ model: idOf('error=400') }), 400, 'upstream_rejected')
})
