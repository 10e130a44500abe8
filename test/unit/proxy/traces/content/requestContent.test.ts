// Goal: captured content has a bound for each request and one for all; whatever becomes of a request, its memory is given back.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { ContentMemory } from '../../../../../proxy/traces/content/contentMemory.ts'
import { RequestContent } from '../../../../../proxy/traces/content/requestContent.ts'

const QUEUE = 100

function newMemory(rawBytesMax = 40) {
  const counts = { dropped: 0 }
  const limits = { traceContentQueueBytesMax: QUEUE, traceContentRawBytesMax: rawBytesMax }
  const memory = new ContentMemory(limits, () => counts.dropped++)
  /** Whether all of it is free. */
  const isFree = (): boolean => {
    const free = memory.take(QUEUE)
    if (free) memory.give(QUEUE)
    return free
  }
  return { memory, counts, isFree }
}
const bytes = (length: number): Buffer => Buffer.alloc(length, 'a')

test('the body and the answer are kept as their bytes', () => {
  const { memory, isFree } = newMemory()
  const content = new RequestContent(memory, Buffer.from('{"ü":1}'))
  content.note('é')
  content.note(Buffer.from('xyz').subarray(1))
  const { input, output, isCut } = content.raw ?? assert.fail()
  const text = (latin1: string): string => Buffer.from(latin1, 'latin1').toString('utf8')
  assert.deepEqual([text(input), text(output), isCut], ['{"ü":1}', 'éyz', false])
  assert.equal(content.bytes, 8 + 4)
  content.release()
  assert.equal(content.raw, null)
  assert.ok(isFree())
})

test('a body beyond the bound is left out, as one that is not known; an answer is cut', () => {
  const { memory } = newMemory()
  for (const body of [bytes(41), bytes(0)]) {
    const { input, isCut } = new RequestContent(memory, body).raw ?? assert.fail()
    assert.deepEqual([input, isCut], ['', true])
  }
  const content = new RequestContent(memory, bytes(1))
  content.note(bytes(30))
  content.note(bytes(11))
  content.note(bytes(1))
  assert.deepEqual([content.raw?.output.length, content.raw?.isCut], [40, true])
  content.restart()
  assert.deepEqual([content.raw?.output, content.raw?.isCut], ['', false], 'an attempt that failed is forgotten')
})

test('content for which there is no memory is dropped and counted once', () => {
  const { memory, counts, isFree } = newMemory()
  const first = new RequestContent(memory, bytes(40))
  const second = new RequestContent(memory, bytes(40))
  const third = new RequestContent(memory, bytes(40))
  assert.deepEqual([first.bytes, second.bytes, third.raw, counts.dropped], [40, 40, null, 1])
  second.note(bytes(21))
  assert.deepEqual([second.raw, second.bytes, counts.dropped], [null, 0, 2])
  second.note(bytes(1))
  assert.equal(counts.dropped, 2)
  first.note(bytes(40))
  assert.equal(first.bytes, 80)
  first.release()
  assert.ok(isFree())
})

test('content that nobody has taken when its answer ends is given back; the rest is told of the end once', () => {
  const { memory, isFree } = newMemory()
  const left = new RequestContent(memory, bytes(10))
  left.close()
  assert.equal(left.raw, null)
  const taken = new RequestContent(memory, bytes(10))
  let ends = 0
  taken.whenClosed(() => ends++)
  assert.equal(ends, 0)
  taken.close()
  taken.close()
  taken.note(bytes(1))
  assert.deepEqual([ends, taken.raw?.output], [1, ''])
  taken.release()
  assert.ok(isFree())
})

test('all memory is given back in any order of calls', () => {
  const calls = fc.array(
    fc.tuple(fc.nat(3), fc.constantFrom('note', 'restart', 'take', 'close', 'release'), fc.nat(60)),
    { maxLength: 60 },
  )
  fc.assert(
    fc.property(calls, (all) => {
      const { memory, isFree } = newMemory()
      const contents = [10, 20, 41, 30].map((length) => new RequestContent(memory, bytes(length)))
      for (const [at, name, length] of all) {
        const content = contents[at] ?? assert.fail()
        if (name === 'note') content.note(bytes(length))
        else if (name === 'take') content.whenClosed(() => undefined)
        else content[name]()
        const held = contents.reduce((sum, one) => sum + one.bytes, 0)
        assert.ok(held <= QUEUE)
      }
      for (const content of contents) content.release()
      assert.ok(isFree())
    }),
  )
})
