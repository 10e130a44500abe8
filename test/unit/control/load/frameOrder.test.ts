import assert from 'node:assert/strict'
import { test } from 'node:test'
import { FrameOrder } from '../../../../control/load/frameOrder.ts'

const read = (texts: readonly string[], missingMax = 100): [lost: number, reordered: number] => {
  const order = new FrameOrder(missingMax)
  for (const text of texts) order.push(text)
  return [order.lost, order.reordered]
}
const tokens = (...numbers: readonly number[]): string[] => numbers.map((number) => ` tok${number}`)

test('lost, late and repeated frames of a numbered stream are counted', () => {
  assert.deepEqual(read(tokens(0, 1, 2, 3, 4)), [0, 0])
  assert.deepEqual(read(tokens(1, 2, 3)), [0, 0])
  assert.deepEqual(read(tokens(0, 1, 3, 4, 5)), [1, 0])
  assert.deepEqual(read(tokens(0, 1, 3, 2, 4)), [0, 1])
  assert.deepEqual(read(tokens(0, 1, 1, 2, 3)), [0, 1])
  assert.deepEqual(read(tokens(0, 1, 2, 3, 6, 4, 7, 8, 9)), [1, 1])
})

test('nothing is said of streams that are not numbered', () => {
  assert.deepEqual(read(['Hello', ' 1', ' 5']), [0, 0])
  assert.deepEqual(read(['1', ',', ' 7']), [0, 0])
  assert.deepEqual(read(['0', '7', '3', '9']), [0, 0])
  assert.deepEqual(read(['1', '999999999']), [0, 0])
  assert.deepEqual(read([]), [0, 0])
})
