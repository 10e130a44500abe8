import assert from 'node:assert/strict'
import { test } from 'node:test'
import { compareStreamIds, parseStreamId } from '../../../../contract/wire/streamId.ts'

test('stream ids are ordered by both of their parts', () => {
  const order = (a: string, b: string) => Math.sign(compareStreamIds(parseStreamId(a), parseStreamId(b)))
  assert.equal(order('9-0', '10-0'), -1)
  assert.equal(order('10-2', '10-10'), -1)
  assert.equal(order('10-2', '10-2'), 0)
  assert.equal(order('11-0', '10-99'), 1)
})
