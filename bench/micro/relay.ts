import assert from 'node:assert/strict'
import type { Bench } from 'tinybench'
import { completionText } from '../../mock/events.ts'
import { behaviourOf } from '../../mock/grammar.ts'
import { planOf } from '../../mock/plan.ts'
import { ChunkScan } from '../../proxy/dialects/openai/chunkScan.ts'
import { readOpenaiAnswer } from '../../proxy/dialects/openai/openaiAnswer.ts'
import { readPlainAnswer } from '../../proxy/dialects/openai/plainAnswer.ts'
import { appendChunk, chunkIdentity } from '../../proxy/dialects/openai/rewrite.ts'
import type { AnswerContext } from '../../proxy/dialects/shared/codec.ts'
import { AnswerJson } from '../../proxy/json/answerJson.ts'
import { readLimits } from '../../proxy/limits.ts'
import type { FrameSink } from '../../proxy/sse/frameReader.ts'
import { FrameReader } from '../../proxy/sse/frameReader.ts'
import { OutBuffer } from '../../proxy/sse/outBuffer.ts'

const FRAMES = 100
const LIMITS = readLimits(undefined)

const plan = planOf(behaviourOf(`mock,chunks=${FRAMES}`), true)
const frames = Array.from({ length: FRAMES }, (_, index) => plan.content(index, 1))
const stream = Buffer.concat(frames)
const identity = chunkIdentity('req_01ARZ3NDEKTSV4RRFFQ69G5FAV', 'acme/chat-small', 0)

const MESSAGE = '{"role":"assistant","content":"The quick brown fox jumps over the lazy dog.","refusal":null}'
const USAGE =
  '{"prompt_tokens":12,"completion_tokens":10,"total_tokens":22,"prompt_tokens_details":{"cached_tokens":4},' +
  '"completion_tokens_details":{"reasoning_tokens":0}}'
const CONTEXT = {
  requestId: 'req_01ARZ3NDEKTSV4RRFFQ69G5FAV',
  startedAtMs: 0,
  model: { id: 'acme/chat-small', context: 128_000, maxOutput: 16_384, imageTokens: 0 },
  limits: LIMITS,
} as unknown as AnswerContext

/** Adds the benches of frame reading and chunk rewriting on the mock provider's own frames. */
export function addRelay(bench: Bench): void {
  const counter = new Counter()
  const reader = new FrameReader(LIMITS)
  reader.push(stream, counter)
  assert.equal(counter.frames, FRAMES)
  bench.add(`frame reading, ${FRAMES} frames in one read`, () => {
    reader.push(stream, counter)
  })

  const single = frames[0] ?? Buffer.alloc(0)
  const scan = new ChunkScan()
  const end = single.length - 2
  assert.ok(scan.scan(single, 6, end) && scan.hasChoices && scan.outputBytes > 0)
  bench.add('chunk scan', () => {
    scan.scan(single, 6, end)
  })

  const out = new OutBuffer()
  const rewrite = () => {
    out.clear()
    scan.scan(single, 6, end)
    appendChunk(out, single, 6, end, scan, identity, true)
  }
  rewrite()
  const { usage: _usage, ...expected } = JSON.parse(single.toString('utf8', 6, end)) as Record<string, unknown>
  const written = out.view().toString('utf8', 6)
  assert.deepEqual(JSON.parse(written), { ...expected, id: 'req_01ARZ3NDEKTSV4RRFFQ69G5FAV', model: 'acme/chat-small' })
  bench.add('chunk scan and rewrite', rewrite)
}

/** Adds the benches of answers in one piece: one that is relayed as it came, and one that is parsed for an odd member. */
export function addAnswers(bench: Bench): void {
  const body = Buffer.from(completionText(behaviourOf('mock'), 'chat', MESSAGE, 'stop', USAGE))
  const odd = Buffer.from(body.toString().replace('"choices"', '"\\u0063hoices"'))
  assert.notDeepEqual(odd, body)
  assert.ok(readPlainAnswer(body, CONTEXT) !== undefined && readPlainAnswer(odd, CONTEXT) === undefined)
  const heads = [body, odd].map((bytes) => headOf(bytes))
  assert.deepEqual(JSON.parse(`${heads[0]}}`), JSON.parse(`${heads[1]}}`))
  bench.add('answer, relayed', () => {
    headOf(body)
  })
  bench.add('answer, parsed and printed', () => {
    headOf(odd)
  })
}

function headOf(bytes: Buffer): string {
  const read = readOpenaiAnswer(new AnswerJson(bytes), CONTEXT)
  if ('rejected' in read) throw new Error('the answer was rejected')
  return read.head().toString()
}

class Counter implements FrameSink {
  frames = 0

  onData(): void {
    this.frames++
  }

  onComment(): void {}
}
