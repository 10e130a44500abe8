import assert from 'node:assert/strict'
import { test } from 'node:test'
import { CHAT_ENDPOINTS, ENDPOINTS } from '../../../../contract/catalog/catalog.ts'
import { DIALECT, DIALECTS, DIALECTS_OF, isDialect, USUAL_DIALECT } from '../../../../contract/catalog/dialects.ts'
import { SURFACES } from '../../../../proxy/endpoints/largeBodies/tasks/surfaces.ts'

test('every endpoint of models has a dialect; tools are no models', () => {
  const without = ENDPOINTS.filter((endpoint) => DIALECTS_OF[endpoint].size === 0)
  assert.deepEqual(without, ['tools'])
})

test('a surface has a codec for exactly the dialects that serve its endpoint', () => {
  for (const endpoint of CHAT_ENDPOINTS) {
    const { codecs } = SURFACES[endpoint]
    assert.deepEqual(Object.keys(codecs).sort(), [...DIALECTS].sort(), endpoint)
    const spoken = DIALECTS.filter((dialect) => codecs[dialect] !== null)
    assert.deepEqual(spoken, [...DIALECTS_OF[endpoint]], endpoint)
  }
})

test('every dialect sends the key of a provider that has one, and no key of one that has none', () => {
  for (const dialect of DIALECTS) {
    const values = (apiKey: string): string[] => Object.values(DIALECT[dialect].headers(apiKey))
    assert.equal(values('sk-1').filter((value) => value.includes('sk-1')).length, 1, dialect)
    assert.equal(values('sk-1').length, values('').length + 1, dialect)
  }
})

test('names of dialects are known by the table alone', () => {
  for (const dialect of DIALECTS) assert.ok(isDialect(dialect))
  for (const name of ['', 'OpenAI', 'toString', '__proto__', 'gemini']) assert.ok(!isDialect(name), name)
  assert.ok(isDialect(USUAL_DIALECT))
})
