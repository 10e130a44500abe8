// Goal: own headers and an own query of a provider get to those that ask it as the file says, secrets by reference alone; what the
// gateway sends itself, or what is ambiguous, is refused by its line.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ownPartsOf, readOwnParts, withOwnQuery } from '../../../../../contract/providers/ownParts.ts'
import { freshReads } from '../../../../../contract/providers/reach.ts'
import { sluice } from '../../../../../contract/wire/generated/messages.js'
import { decodeProvider } from '../../../../../proxy/catalog/provider.ts'
import { acmeFile, recordOf } from '../../../../support/acmeCatalog.ts'
import { problemsOf } from '../../../../support/catalogProblems.ts'
import { itemOf } from '../../../../support/present.ts'

const providerOf = (provider: string): sluice.ProviderRecord =>
  sluice.ProviderRecord.create(itemOf(recordOf(acmeFile(provider)).providers, 0))

const OWN =
  'headers: [{ name: openai-organization, value: org 1 }, { name: x-secret, env: S }], query: [{ name: api-version, value: 2024&10 }]'

test('values are read where they are; a secret is not in the record', () => {
  const record = providerOf(OWN)
  assert.deepEqual(readOwnParts(record, { S: ' hidden\n' }), {
    headers: ['openai-organization', 'org 1', 'x-secret', 'hidden'],
    query: 'api-version=2024%2610',
    unread: [],
  })
  assert.equal(readOwnParts(record, {}), undefined)
  const none = ownPartsOf(providerOf('batch: false'), () => ({ text: '', fault: 'not set' }))
  assert.deepEqual(none, { headers: [], query: '', unread: [] })
})

test('a provider without one of its secrets is not asked, and says which it lacks', () => {
  const read = (environment: NodeJS.ProcessEnv) =>
    decodeProvider(providerOf(`api_key_env: K, ${OWN}`), freshReads(environment))
  const whole = read({ K: 'word', S: 'word' })
  assert.deepEqual([whole?.missingKey, whole?.apiKey, whole?.query], ['', 'word', 'api-version=2024%2610'])
  const lacking = read({ K: 'word' })
  assert.deepEqual([lacking?.missingKey, lacking?.apiKey], ['S', ''])
  assert.deepEqual(lacking?.unread, [{ id: 'x-secret', place: 'S', isFile: false, fault: 'not set' }])
})

test('the query follows one that a path has', () => {
  assert.equal(withOwnQuery('/a', ''), '/a')
  assert.equal(withOwnQuery('/a', 'b=c'), '/a?b=c')
  assert.equal(withOwnQuery('/a?x=y', 'b=c'), '/a?x=y&b=c')
})

for (const [entry, problem] of [
  ['headers: [{ name: x-a }]', /headers\[0\] must have one of value, env and file/],
  ['headers: [{ name: x-a, value: a, env: A }]', /headers\[0\] must have one of value, env and file/],
  ['headers: [{ name: x-a, value: a }, { name: x-a, env: A }]', /headers\[1\] repeats "x-a"/],
  [
    'api_key_env: K, headers: [{ name: authorization, env: A }]',
    /headers\[0\] is a header of the dialect or of the key/,
  ],
  ['headers: [{ name: X-A, value: a }]', /headers\[0\]\.name must be the name of a header in lower case/],
  ['headers: [{ name: host, value: a }]', /headers\[0\]\.name must be/],
  ['headers: [{ name: content-length, value: "1" }]', /headers\[0\]\.name must be/],
  ['headers: [{ name: accept, value: a }]', /headers\[0\]\.name must be/],
  ['headers: [{ name: x-request-id, value: a }]', /headers\[0\]\.name must be/],
  ['headers: [{ name: x-a, value: "a\\r\\nb: c" }]', /headers\[0\]\.value must be a text of 1 to 1024/],
  ['headers: [{ name: x-a, value: "" }]', /headers\[0\]\.value must be a text/],
  ['headers: [{ name: x-a, file: relative }]', /headers\[0\]\.file must be an absolute path/],
  ['query: [{ name: "a b", value: a }]', /query\[0\]\.name must be the name of a parameter/],
  ['query: [{ name: a, value: a, file: /x }]', /query\[0\] must have one of/],
] as const) {
  test(`refused: ${entry}`, () => {
    const [first = ''] = problemsOf(acmeFile(entry))
    assert.match(first, /^catalog\.yaml:3: providers\[0\]\./)
    assert.match(first, problem)
  })
}

test('without a key, the header of the key is a header of its own', () => {
  const record = providerOf('headers: [{ name: authorization, env: TOKEN }]')
  assert.deepEqual(readOwnParts(record, { TOKEN: 'Basic abc' })?.headers, ['authorization', 'Basic abc'])
})
