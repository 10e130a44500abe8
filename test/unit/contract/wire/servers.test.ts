import assert from 'node:assert/strict'
import { test } from 'node:test'
import { areKnown } from '../../../../contract/wire/servers.ts'

test('shards may move between known servers, but not to an unknown one', () => {
  assert.ok(areKnown('a/1,b/2', 'a/1,b/2'))
  assert.ok(areKnown('b/2', 'a/1,b/2'))
  assert.ok(!areKnown('a/1,c/3', 'a/1,b/2'))
  assert.ok(!areKnown('a/4,b/2', 'a/1,b/2'))
  assert.ok(!areKnown('a/1', ''))
})
