// Goal: whatever a provider makes of the format, as long as it can be told what it means, clients of every format get the
// text, the calls and the reason that the model meant, and the charge is that of the usage reported.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { usageBounds } from '../../contract/money/openaiUsage.ts'
import { AnthropicWriter } from '../../proxy/dialects/anthropic/anthropicWriter.ts'
import { ChatStream } from '../../proxy/dialects/openai/chatStream.ts'
import { OpenaiReader } from '../../proxy/dialects/openai/openaiReader.ts'
import { chunkIdentity } from '../../proxy/dialects/openai/rewrite.ts'
import { ResponseWriter } from '../../proxy/dialects/responses/responseWriter.ts'
import type { RelayStream } from '../../proxy/dialects/shared/relayStream.ts'
import { TranslatedStream } from '../../proxy/dialects/shared/translatedStream.ts'
import { OutBuffer } from '../../proxy/sse/outBuffer.ts'
import { limits } from '../support/limits.ts'
import { rounds } from '../support/rounds.ts'
import { crookedStream, idOf, type Plan, plans, type Twist, twists } from '../support/wires/crookedStream.ts'
import { strictClients } from '../support/wires/strictClients.ts'

const ID = 'req_01ARZ3NDEKTSV4RRFFQ69G5FAV'
const BOUNDS = usageBounds(128_000, 16_384)
const NO_TOKENS = { input: 0, cachedInput: 0, cacheWrite5m: 0, cacheWrite1h: 0, output: 0, reasoning: 0 }
const reader = () => new OpenaiReader(BOUNDS, limits, ID)
const head = { id: ID, createdAtMs: 0, model: 'm', echo: '"tools":[]' }
const STREAMS: Record<keyof typeof strictClients, () => RelayStream> = {
  chat: () => new ChatStream(chunkIdentity(ID, 'm'), false, BOUNDS, limits),
  messages: () => new TranslatedStream(reader(), new AnthropicWriter(ID, 'm', 0), 1e7),
  responses: () => new TranslatedStream(reader(), new ResponseWriter(head), 1e7),
}

function check(format: keyof typeof strictClients, plan: Plan, twist: Twist): void {
  const stream = STREAMS[format]()
  const out = new OutBuffer()
  for (const bytes of crookedStream(plan, twist)) stream.push(bytes, out)
  stream.finish(out)
  assert.ok(stream.complete && stream.state !== 'broken')
  const { usage } = stream
  // A report counts unless output follows it.
  assert.deepEqual([usage?.input, usage?.output], [plan.usage.prompt_tokens, plan.usage.completion_tokens])
  assert.equal(stream.framesAtUsage, stream.outputFrames)
  const tail = stream.tail({ usage: usage ?? NO_TOKENS, fault: null, receipt: '', startedAtMs: 0 })
  const got = strictClients[format](out.view().toString() + tail)
  const isCalled = plan.finish === 'stop' && plan.calls.length > 0
  assert.deepEqual(
    { ...got, calls: got.calls.map((call) => ({ name: call.name, input: JSON.parse(call.arguments) as unknown })) },
    {
      text: plan.words.join(''),
      reasoning: plan.thoughts.join(''),
      refusal: '',
      calls: plan.calls,
      finish: isCalled ? 'tool_calls' : plan.finish,
    },
  )
  const ids = got.calls.map(({ id }) => id)
  assert.equal(new Set(ids).size, ids.length)
  for (const [number, id] of ids.entries()) assert.equal(id, idOf(twist, number) ?? `call_${ID.slice(4)}_${number}`)
}

for (const format of ['chat', 'messages', 'responses'] as const) {
  test(`crooked streams mean the same to clients of ${format}`, () => {
    fc.assert(
      fc.property(plans, twists, (plan, twist) => check(format, plan, twist)),
      { numRuns: rounds({ short: 400, long: 50_000 }), includeErrorInReport: true },
    )
  })
}
