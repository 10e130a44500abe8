// The bodies of answers share one bound on memory, and give back what they took, however they end.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { AnswerBody } from '../../../../proxy/upstream/answerBody.ts'
import { AnswerMemory } from '../../../../proxy/upstream/answerMemory.ts'

const piece = Buffer.alloc(40, 'x')

test('a body within its bound is given out whole, and its memory is free again', () => {
  const memory = new AnswerMemory(100)
  const body = new AnswerBody(memory)
  assert.equal(body.add(piece, 100), null)
  assert.equal(body.add(piece, 100), null)
  assert.equal(memory.bytesOpen, 80)
  assert.equal(body.take().length, 80)
  assert.equal(memory.bytesOpen, 0)
})

test('a body beyond its bound keeps nothing', () => {
  const memory = new AnswerMemory(100)
  const body = new AnswerBody(memory)
  assert.equal(body.add(piece, 60), null)
  assert.equal(body.add(piece, 60), 'too_long')
  assert.equal(memory.bytesOpen, 0)
  body.clear()
  assert.equal(memory.bytesOpen, 0)
})

test('the bodies of a process together do not exceed their memory, and the next fits when one has ended', () => {
  const memory = new AnswerMemory(100)
  const [first, second, third] = [new AnswerBody(memory), new AnswerBody(memory), new AnswerBody(memory)]
  assert.equal(first.add(piece, 1_000), null)
  assert.equal(second.add(piece, 1_000), null)
  assert.equal(third.add(piece, 1_000), 'no_memory')
  assert.equal(memory.bytesOpen, 80)
  first.clear()
  assert.equal(third.add(piece, 1_000), null)
  second.clear()
  third.clear()
  assert.equal(memory.bytesOpen, 0)
})

test('a share of the memory ends before all of it, and takes nothing from it when it is full', () => {
  const whole = new AnswerMemory(100)
  const share = new AnswerMemory(40, whole)
  assert.equal(share.take(40), true)
  assert.equal(share.take(1), false)
  assert.deepEqual([share.bytesOpen, whole.bytesOpen], [40, 40])
  assert.equal(whole.take(60), true)
  share.release(40)
  assert.deepEqual([share.bytesOpen, whole.bytesOpen], [0, 60])
  assert.equal(whole.take(30), true)
  assert.equal(share.take(20), false)
  assert.deepEqual([share.bytesOpen, whole.bytesOpen], [0, 90])
})

test('a large body is gathered whole, its memory given back at the end', async () => {
  const memory = new AnswerMemory(10_000_000)
  const body = new AnswerBody(memory)
  const pieces = Array.from({ length: 100 }, (_, i) => Buffer.alloc(50_000, i))
  for (const piece of pieces) assert.equal(body.add(piece, 10_000_000), null)
  const gathered = body.gather()
  assert.deepEqual([body.length, memory.bytesOpen], [0, 5_000_000])
  assert.ok((await gathered).bytes.equals(Buffer.concat(pieces)))
  assert.equal(memory.bytesOpen, 0)
})
