import assert from 'node:assert/strict'
import { test } from 'node:test'
import { GatewayError } from '../../../../../contract/errors/errors.ts'
import { taggingOf } from '../../../../../proxy/endpoints/run/tagging.ts'
import { readMessagesTagging, readTagging } from '../../../../../proxy/json/tagging.ts'
import { limits } from '../../../../support/limits.ts'

const of = (defaults: string, header: string, body: Record<string, unknown> = {}) => {
  const found = taggingOf({ tags: defaults }, { tags: header }, readTagging(body, limits).tagging, limits)
  return found && [found.user, found.tags]
}

test('the header beats the body, and the body beats the key', () => {
  assert.equal(of('', ''), undefined)
  assert.equal(taggingOf({ tags: '' }, {}, undefined, limits), undefined)
  assert.deepEqual(of('team=a,env=x', ''), ['', 'team=a,env=x'])
  assert.deepEqual(of('env=x,team=a', '', { metadata: { team: 'b' }, user: 'u 1' }), ['u%201', 'env=x,team=b'])
  assert.deepEqual(of('env=x,team=a', 'team=c,z=1', { metadata: { team: 'b' } }), ['', 'env=x,team=c,z=1'])
  assert.deepEqual(of('', '', { user: 'u' }), ['u', ''])
  assert.equal(of('', '', { user: '', metadata: {} }), undefined)
  assert.equal(of('', '', { user: null, metadata: null }), undefined)
})

test('requests with the same tags have salts of their own', () => {
  const salts = [1, 2].map(() => taggingOf({ tags: 'a=b' }, {}, undefined, limits)?.salt)
  assert.notEqual(salts[0], salts[1])
})

test('metadata that is no object of strings is refused by its name, and that of Messages names the user alone', () => {
  for (const metadata of ['x', [], { a: 1 }, { a: { b: 'c' } }]) {
    assert.throws(
      () => readTagging({ metadata }, limits),
      (error) => error instanceof GatewayError && error.status === 400 && error.param === 'metadata',
    )
  }
  assert.deepEqual(readMessagesTagging({ metadata: { user_id: 'u', other: 1 } }, limits), {
    tagging: { user: 'u', tags: '' },
  })
  for (const metadata of [undefined, null, {}, { user_id: null }]) {
    assert.deepEqual(readMessagesTagging({ metadata }, limits), {})
  }
  assert.throws(
    () => readMessagesTagging({ metadata: { user_id: 'a\nb' } }, limits),
    (error) => error instanceof GatewayError && error.param === 'metadata.user_id',
  )
})
