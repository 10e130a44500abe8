import assert from 'node:assert/strict'
import type { Bench } from 'tinybench'
import { behaviourOf } from '../../mock/grammar.ts'
import { planOf } from '../../mock/plan.ts'
import { ChunkScan } from '../../proxy/dialects/openai/chunkScan.ts'
import { appendChunk, chunkIdentity } from '../../proxy/dialects/openai/rewrite.ts'
import { readLimits } from '../../proxy/limits.ts'
import type { FrameSink } from '../../proxy/sse/frameReader.ts'
import { FrameReader } from '../../proxy/sse/frameReader.ts'
import { OutBuffer } from '../../proxy/sse/outBuffer.ts'

const FRAMES = 100
const LIMITS = readLimits(undefined)

const plan = planOf(behaviourOf(`mock,chunks=${FRAMES}`), true)
const frames = Array.from({ length: FRAMES }, (_, index) => plan.content(index, 1))
const stream = Buffer.concat(frames)
const identity = chunkIdentity('req_01ARZ3NDEKTSV4RRFFQ69G5FAV', 'acme/chat-small')

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

class Counter implements FrameSink {
  frames = 0

  onData(): void {
    this.frames++
  }

  onComment(): void {}
}
