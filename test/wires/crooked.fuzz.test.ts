// Goal: whatever a provider makes of the format, as long as it can be told what it means, clients of every format get the
// text, the calls and the reason that the model meant, and the usage is the one reported.
// `test/long/crooked-streams.test.ts` sends such streams through whole gateways, and has the charges and the audit.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { usageBounds } from '../../contract/money/openaiUsage.ts'
import { AnthropicWriter } from '../../proxy/dialects/anthropic/anthropicWriter.ts'
import { ChatStream } from '../../proxy/dialects/openai/chatStream.ts'
import { OpenaiReader } from '../../proxy/dialects/openai/openaiReader.ts'
import { chunkIdentity, textIdentity } from '../../proxy/dialects/openai/rewrite.ts'
import { ResponseWriter } from '../../proxy/dialects/responses/responseWriter.ts'
import type { RelayStream } from '../../proxy/dialects/shared/relayStream.ts'
import { SerialWriter } from '../../proxy/dialects/shared/serialWriter.ts'
import { TranslatedStream } from '../../proxy/dialects/shared/translatedStream.ts'
import { OutBuffer } from '../../proxy/sse/outBuffer.ts'
import { limits } from '../support/limits.ts'
import { rounds } from '../support/rounds.ts'
import { crookedStream, type Plan, plans, type Twist, twists } from '../support/wires/crookedStream.ts'
import { crookedText, textPlans } from '../support/wires/crookedText.ts'
import { assertMeant, assertTextMeant } from '../support/wires/meant.ts'
import { readCompletion, strictClients } from '../support/wires/strictClients.ts'

const ID = 'req_01ARZ3NDEKTSV4RRFFQ69G5FAV'
const BOUNDS = usageBounds(128_000, 16_384)
const NO_TOKENS = { input: 0, cachedInput: 0, cacheWrite5m: 0, cacheWrite1h: 0, output: 0, reasoning: 0 }
const reader = () => new OpenaiReader(BOUNDS, limits, ID)
const head = { id: ID, createdAtMs: 0, model: 'm', echo: '"tools":[]' }
const STREAMS: Record<keyof typeof strictClients, () => RelayStream> = {
  chat: () => new ChatStream(chunkIdentity(ID, 'm', 0), false, BOUNDS, limits),
  messages: () => new TranslatedStream(reader(), new SerialWriter(new AnthropicWriter(ID, 'm', 0)), 1e7),
  responses: () => new TranslatedStream(reader(), new SerialWriter(new ResponseWriter(head)), 1e7),
}

/** @returns what the client of a stream gets, whose usage is right */
function read(stream: RelayStream, pieces: readonly Buffer[], plan: Plan): string {
  const out = new OutBuffer()
  for (const bytes of pieces) stream.push(bytes, out)
  stream.finish(out)
  assert.ok(stream.complete && stream.state !== 'broken')
  const { usage } = stream
  // A report counts unless output follows it.
  assert.deepEqual([usage?.input, usage?.output], [plan.usage.prompt_tokens, plan.usage.completion_tokens])
  assert.equal(stream.framesAtUsage, stream.outputFrames)
  const tail = stream.tail({ usage: usage ?? NO_TOKENS, fault: null, receipt: '' })
  return out.view().toString() + tail
}

function check(format: keyof typeof strictClients, plan: Plan, twist: Twist): void {
  const stream = read(STREAMS[format](), crookedStream(plan, twist), plan)
  assertMeant(strictClients[format](stream, twist.stopsOften), plan, twist, ID)
}

function checkText(plan: Plan, twist: Twist): void {
  const stream = new ChatStream(textIdentity(ID, 'm', 0), false, BOUNDS, limits)
  assertTextMeant(readCompletion(read(stream, crookedText(plan, twist), plan)), plan, twist)
}

for (const format of ['chat', 'messages', 'responses'] as const) {
  test(`crooked streams mean the same to clients of ${format}`, () => {
    fc.assert(
      fc.property(plans, twists, (plan, twist) => check(format, plan, twist)),
      { numRuns: rounds({ short: 200, long: 50_000 }), includeErrorInReport: true },
    )
  })
}

test('crooked streams of text completions mean the same to their clients', () => {
  fc.assert(
    fc.property(textPlans, twists, (plan, twist) => checkText(plan, twist)),
    { numRuns: rounds({ short: 400, long: 50_000 }), includeErrorInReport: true },
  )
})
