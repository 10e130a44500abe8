import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Model } from '../../../../../proxy/catalog/catalog.ts'
import { noteRefused, refusedBefore } from '../../../../../proxy/endpoints/chat/refusedBefore.ts'
import { limits } from '../../../../support/limits.ts'

const modelOf = (id: string) => ({ id }) as Model

test('what a model refuses of every request is known for a time, and for that model alone', () => {
  const [model, other] = [modelOf('a'), modelOf('a')]
  noteRefused(model, 'topEffort', 1_000, limits)
  noteRefused(model, 'laterInstructions', 2_000, limits)
  noteRefused(model, 'topEffort', 3_000, limits)
  const lastMs = 3_000 + limits.refusedPartKeptMs
  assert.deepEqual(refusedBefore(model, lastMs - 1), ['topEffort', 'laterInstructions'])
  assert.deepEqual(refusedBefore(model, lastMs), [])
  assert.deepEqual(refusedBefore(other, 3_000), [])
  noteRefused(model, 'shownThoughts', lastMs, limits)
  assert.deepEqual(refusedBefore(model, lastMs), ['shownThoughts'])
})

test('parts that depend on the request are not kept', () => {
  const model = modelOf('b')
  for (const part of ['images', 'sampling', 'forcedCalls', 'thoughts'] as const) noteRefused(model, part, 0, limits)
  assert.deepEqual(refusedBefore(model, 0), [])
})
