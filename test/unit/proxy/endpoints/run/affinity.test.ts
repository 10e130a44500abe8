// Goal: all requests of a conversation have one affinity, and different conversations different ones, whatever names them.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { JsonObject } from '../../../../../contract/std/jsonObject.ts'
import { affinityOf, conversationOf } from '../../../../../proxy/endpoints/run/affinity.ts'

const KEY = { accountId: 'acct_1', keyId: 'key_1' }
const OTHER_KEY = { accountId: 'acct_1', keyId: 'key_2' }
const STRANGER = { accountId: 'acct_2', keyId: 'key_3' }

const of = (body: JsonObject, session = '', caller = KEY): number =>
  affinityOf(caller, { requestId: `req_${Math.random()}`, session }, conversationOf(body))

const SYSTEM = { role: 'system', content: 'You are a careful assistant.' }
const said = (text: string) => ({ role: 'user', content: text })
const TURNS = [SYSTEM, said('What is a hold?'), { role: 'assistant', content: 'Money set aside.' }, said('And then?')]

test('a conversation keeps its affinity while it grows, in either format', () => {
  assert.equal(of({ messages: TURNS }), of({ messages: TURNS.slice(0, 2) }))
  const messages = TURNS.slice(1)
  assert.equal(of({ system: 'S', messages }), of({ system: 'S', messages: messages.slice(0, 1) }))
  assert.notEqual(of({ system: 'S', messages }), of({ system: 'T', messages }))
})

test('another prompt, first message or key is another conversation', () => {
  const usual = of({ messages: TURNS })
  assert.notEqual(usual, of({ messages: [{ ...SYSTEM, content: 'Another.' }, ...TURNS.slice(1)] }))
  assert.notEqual(usual, of({ messages: [SYSTEM, said('What is a charge?')] }))
  assert.notEqual(usual, of({ messages: TURNS }, '', OTHER_KEY))
  assert.notEqual(of({ prompt: 'once' }), of({ prompt: 'twice' }))
})

test('texts that differ at their ends alone differ, however long they are', () => {
  const long = 'x'.repeat(50_000)
  const parts = (last: string) => [{ type: 'text', text: long }, { type: 'image_url' }, { type: 'text', text: last }]
  assert.notEqual(of({ messages: [said(`${long}a`)] }), of({ messages: [said(`${long}b`)] }))
  assert.notEqual(of({ messages: [said(long)] }), of({ messages: [said(`${long}x`)] }))
  const asked = (last: string) => of({ messages: [{ role: 'user', content: parts(last) }] })
  assert.notEqual(asked('a'), asked('b'))
})

const NAMES: [string, JsonObject][] = [
  ['prompt_cache_key', { prompt_cache_key: 'talk-1' }],
  ['user', { user: 'talk-1' }],
  ['metadata.user_id', { metadata: { user_id: 'talk-1' } }],
]

for (const [name, member] of NAMES) {
  test(`${name} names a conversation within its account`, () => {
    const usual = of({ ...member, messages: TURNS })
    assert.equal(usual, of({ ...member, messages: [said('Anything else')] }, '', OTHER_KEY))
    assert.notEqual(usual, of({ ...member, messages: TURNS }, '', STRANGER))
    assert.notEqual(usual, of({ messages: TURNS }))
  })
}

test('a session of the head goes before the names of the body, and the cache key before the user', () => {
  const body = { prompt_cache_key: 'talk-1', user: 'someone' }
  assert.equal(of(body, 'session'), of({ user: 'another' }, 'session'))
  assert.equal(of(body), of({ ...body, user: 'another' }))
})

test('names of another kind are no names', () => {
  const plain = of({ messages: TURNS })
  for (const member of [{ user: '' }, { user: 7 }, { metadata: 'x' }, { prompt_cache_key: null }]) {
    assert.equal(of({ ...member, messages: TURNS }), plain)
  }
})

test('a request without a conversation goes anywhere', () => {
  const seen = new Set(Array.from({ length: 50 }, (_, i) => affinityOf(KEY, { requestId: `req_${i}`, session: '' })))
  assert.ok(seen.size > 45)
})

test('content that no client should send is no fault', () => {
  const strange = [null, {}, { messages: 'x' }, { messages: [null, 1, { role: 'user', content: [null, 1, 'x'] }] }]
  for (const body of strange) assert.equal(typeof of((body ?? {}) as JsonObject), 'number')
})
