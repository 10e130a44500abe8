import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { isOverReported, similarityPpm } from '../../../../../../control/products/marketplace/serving/compareAnswers.ts'

test('answers are compared by the tokens that they have in common', () => {
  assert.equal(similarityPpm('Monday, Tuesday', 'monday,tuesday'), 1_000_000)
  assert.equal(similarityPpm('', ''), 1_000_000)
  assert.equal(similarityPpm('one two', ''), 0)
  assert.equal(similarityPpm('one two three', 'one two four'), 666_666)
  // A token counts as often as in the answer that has it less.
  assert.equal(similarityPpm('a a a a', 'a'), 400_000)
})

test('the comparison is symmetric, and an answer equals itself', () => {
  fc.assert(
    fc.property(fc.string(), fc.string(), (a, b) => {
      assert.equal(similarityPpm(a, b), similarityPpm(b, a))
      assert.equal(similarityPpm(a, a), 1_000_000)
    }),
  )
})

test('reported usage is excessive if it is clearly above the reference, or above the bytes of the response', () => {
  const reference = { text: 'one two', promptTokens: 20, outputTokens: 10 }
  const answer = { text: 'one two', promptTokens: 20, outputTokens: 10 }
  assert.equal(isOverReported(answer, reference), false)
  assert.equal(isOverReported({ ...answer, promptTokens: 73 }, reference), true)
  assert.equal(isOverReported({ ...answer, promptTokens: 72 }, reference), false)
  assert.equal(isOverReported({ ...answer, outputTokens: 53 }, reference), true)
  assert.equal(isOverReported({ ...answer, outputTokens: null, promptTokens: null }, reference), false)
})
