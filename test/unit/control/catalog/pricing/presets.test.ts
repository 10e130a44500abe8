// Goal: a catalog entry with a preset is the entry that an operator would have written out, and may differ from it in any member.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readSchema } from '../../../../../contract/schemas/schemaFaults.ts'
import { type CatalogProvider, parseCatalog } from '../../../../../control/catalog/pricing/catalogFile.ts'
import { PRESETS } from '../../../../../control/catalog/pricing/presets.ts'
import { FileError } from '../../../../../control/runtime/files/yamlFile.ts'
import { itemOf } from '../../../../support/present.ts'

const MODEL = `models:
  - id: a/b
    owned_by: a
    modality: chat
    endpoints: [chat]
    context: 1000
    max_output: 100
    price: { input: "1", output: "1" }
    routes: [{ provider: p }]
`

function providerOf(entry: string): CatalogProvider {
  const text = `coin: { usd: "1" }\nproviders:\n  - ${entry}\n${MODEL}`
  return itemOf(parseCatalog('c.yaml', text).providers, 0)
}

function problemsOf(entry: string): readonly string[] {
  try {
    providerOf(entry)
  } catch (error) {
    assert.ok(error instanceof FileError)
    return error.problems
  }
  return []
}

/** The address of presets that have none. */
const OWN_ADDRESS: Readonly<Record<string, string>> = {
  azure: 'https://r.openai.azure.com/openai/v1',
  bedrock: 'https://bedrock-runtime.us-west-2.amazonaws.com/openai/v1',
}

test('every preset is a provider that the catalog takes, and equals its members written out', () => {
  for (const [name, { provider }] of Object.entries(PRESETS)) {
    const address = OWN_ADDRESS[name]
    const own = address === undefined ? {} : { base_url: address }
    const entry = JSON.stringify({ id: 'p', data_policy: 'none', ...own, preset: name })
    const written = JSON.stringify({ id: 'p', data_policy: 'none', ...own, ...provider })
    assert.deepEqual(providerOf(entry), providerOf(written), name)
  }
})

test('the schema names the presets that there are', () => {
  const { enum: names } = readSchema('catalog')['$defs'].provider.properties.preset
  assert.deepEqual(names, Object.keys(PRESETS))
})

test('presets without an address are those that the schema asks for one', () => {
  const without = Object.keys(PRESETS).filter((name) => PRESETS[name]?.provider.base_url === undefined)
  assert.deepEqual(without, Object.keys(OWN_ADDRESS))
  for (const name of without) {
    const [problem = ''] = problemsOf(`{ id: p, preset: ${name}, data_policy: none }`)
    assert.match(problem, /^c\.yaml:3: providers\[0\]\.base_url is missing/, name)
  }
})

test('a member of the entry replaces that of the preset, false and empty lists too', () => {
  const { keys, omitMembers, batch, maxTokensField, baseUrl } = providerOf(
    '{ id: p, preset: groq, data_policy: none, api_key_env: MY_KEY, omit_members: [], max_tokens_field: max_tokens }',
  )
  assert.deepEqual([keys.map(({ env }) => env), omitMembers, maxTokensField], [['MY_KEY'], [], 'max_tokens'])
  assert.equal(baseUrl, 'https://api.groq.com/openai/v1')
  assert.equal(batch, false)
  assert.equal(providerOf('{ id: p, preset: openai, data_policy: none, batch: false }').batch, false)
  const own = providerOf(
    '{ id: p, preset: groq, data_policy: none, keys: [{ id: a, env: A }, { id: b, file: /run/b }] }',
  )
  assert.deepEqual(
    own.keys.map(({ id }) => id),
    ['a', 'b'],
    'keys of its own replace the key of the preset',
  )
})

test('a preset changes no other entry and is not changed by one', () => {
  const before = structuredClone(PRESETS)
  providerOf('{ id: p, preset: mistral, data_policy: none, omit_members: [user] }')
  assert.deepEqual(PRESETS, before)
  assert.deepEqual(
    providerOf('{ id: p, base_url: "https://a.example/v1", dialect: openai, data_policy: none }').omitMembers,
    [],
  )
})

test('an unknown preset is refused by its line, and an entry without one needs its address and dialect', () => {
  for (const name of ['grok', 'toString', '__proto__']) {
    const [problem = ''] = problemsOf(`{ id: p, preset: ${name}, data_policy: none }`)
    assert.match(problem, /^c\.yaml:3: providers\[0\]\.preset must be one of: openai, anthropic/, name)
  }
  assert.match(problemsOf('{ id: p, data_policy: none }').join('\n'), /base_url[\s\S]*dialect/)
  for (const entry of ['[]', '7', '{ id: p, preset: [groq], data_policy: none }'])
    assert.ok(problemsOf(entry).length > 0)
})
