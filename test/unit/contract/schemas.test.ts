// Goal: the published schemas stand by themselves: any validator of JSON Schema 2020-12 takes them, they explain every
// field, know what the code knows, and hold for every file that comes with the project.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { parse } from 'yaml'
import * as known from '../../../contract/catalog/catalog.ts'
import { DIALECT, DIALECTS } from '../../../contract/catalog/dialects.ts'
import { FIRST_FRAMES } from '../../../contract/catalog/video.ts'
import { ANNOTATIONS, type Schema } from '../../../contract/schemas/schemaFaults.ts'
import { AMOUNT_KEYS } from '../../../control/catalog/pricing/price.ts'
import { demoPaymentsFile } from '../../../control/launch/chain/demoChain.ts'
import { demoCatalog } from '../../../control/launch/demoCatalog.ts'

const root = new URL('../../../../', import.meta.url)
const textOf = (path: string): string => readFileSync(new URL(path, root), 'utf8')
const schemaOf = (name: string): Schema => JSON.parse(textOf(`contract/schemas/${name}.schema.json`)) as Schema
const NAMES = ['catalog', 'payments', 'environment']

/** What is wrong with a value, as ajv alone says it. */
function faults(name: string, value: unknown): string {
  const ajv = new Ajv2020({
    strictTypes: true,
    allowUnionTypes: true,
    keywords: [...ANNOTATIONS],
    validateFormats: false,
  })
  return ajv.validate(schemaOf(name), value) ? '' : ajv.errorsText()
}

test('catalog.yaml names its schema for editors, and is valid by the schema alone', () => {
  const text = textOf('catalog.yaml')
  const [, path = ''] = /^# yaml-language-server: \$schema=\.\/(\S+)$/m.exec(text) ?? []
  assert.equal(path, 'contract/schemas/catalog.schema.json')
  assert.equal(faults('catalog', parse(text)), '')
})

test('the files of the demo and the examples of the documentation are valid by their schemas alone', () => {
  assert.equal(faults('catalog', parse(demoCatalog(9_100))), '')
  const [coin, stablecoin, registry] = [1, 2, 3].map((digit) => `0x${String(digit).repeat(40)}` as const)
  assert.ok(coin && stablecoin && registry)
  assert.equal(
    faults(
      'payments',
      parse(demoPaymentsFile({ coin, stablecoin, registry }, coin, { vault: coin, distributor: coin }, coin)),
    ),
    '',
  )
  const example = (page: string, start: string): string => {
    const text = textOf(page)
      .split('```yaml\n')
      .find((block) => block.startsWith(start))
    assert.ok(text !== undefined, start)
    return text.slice(0, text.indexOf('```')).replaceAll('"0x..."', `"${coin}"`)
  }
  assert.equal(faults('catalog', parse(example('docs/guides/self-host.md', 'coin: { usd: "1" }'))), '')
  assert.equal(faults('payments', parse(example('docs/operations/chain.md', 'chain_id: 8453'))), '')
})

test('ajv alone rejects every file that a schema rejects', () => {
  const text = demoCatalog(9_100)
  for (const [from, to] of [
    ['usd: "1"', 'usd: 1'],
    ['modality: chat', 'modality: text'],
    ['price: { image: "0.04" }', 'price: { second: "0.04" }'],
    ['endpoints: [rerank]', 'endpoints: [chat]'],
    ['{ call: "0.0021" }', '{ call: "0.0021", base: "0" }'],
    ['    context: 32000\n', ''],
  ] as const) {
    assert.ok(text.includes(from))
    assert.notEqual(faults('catalog', parse(text.replace(from, to))), '', to)
  }
  assert.notEqual(faults('payments', { chain_id: 1 }), '')
  assert.notEqual(faults('environment', { PORT: 65_536 }), '')
  assert.equal(faults('environment', { PORT: 8_080, REDIS_URL: 'unix:///run/redis.sock' }), '')
})

/** The fields of a schema that say nothing of themselves, neither in place nor where they refer to. */
function unexplained(schema: Schema): string[] {
  const found: string[] = []
  const definitions = schema['$defs'] as Record<string, Schema>
  const describes = (field: Schema): boolean => {
    if (typeof field['description'] === 'string') return true
    const target = typeof field['$ref'] === 'string' ? definitions[field['$ref'].slice('#/$defs/'.length)] : undefined
    return target !== undefined && describes(target)
  }
  const visit = (place: string, node: unknown): void => {
    if (typeof node !== 'object' || node === null) return
    const { properties, allOf, ...rest } = node as Record<string, unknown>
    for (const [name, field] of Object.entries((properties ?? {}) as Record<string, Schema>)) {
      if (!describes(field)) found.push(`${place}.${name}`)
      visit(`${place}.${name}`, field)
    }
    for (const [name, value] of Object.entries(rest)) visit(`${place}/${name}`, value)
  }
  visit('', schema)
  return found
}

for (const name of NAMES) {
  test(`every field of ${name}.schema.json has a description`, () => {
    const schema = schemaOf(name)
    assert.equal(typeof schema['description'], 'string')
    assert.deepEqual(unexplained(schema), [])
  })
}

test('the catalog schema lists exactly the names that the code knows', () => {
  const definitions = schemaOf('catalog')['$defs'] as Record<string, Record<string, Record<string, Schema>>>
  const of = (name: string, field: string): Schema => definitions[name]?.['properties']?.[field] ?? {}
  assert.deepEqual(of('model', 'modality')['enum'], known.MODALITIES)
  assert.deepEqual((of('model', 'endpoints')['items'] as Schema)['enum'], known.ENDPOINTS)
  assert.deepEqual(of('model', 'thinking')['enum'], known.THINKING)
  assert.deepEqual(of('provider', 'dialect')['enum'], DIALECTS)
  const providerRules = definitions['provider']?.['allOf'] as unknown as readonly Record<string, Schema>[]
  const ruled = providerRules
    .map((rule) => rule['if']?.['properties']?.dialect?.enum)
    .find((names) => names !== undefined)
  assert.deepEqual(
    ruled,
    DIALECTS.filter((dialect) => !DIALECT[dialect].batches),
  )
  assert.deepEqual(definitions['dataPolicy']?.['enum'], known.DATA_POLICIES)
  assert.deepEqual(of('video', 'image')['enum'], FIRST_FRAMES)
  const rules = definitions['model']?.['allOf'] as unknown as readonly Record<string, Schema>[]
  const priced = new Set<string>()
  for (const modality of known.MODALITIES) {
    const rule = rules.find((one) => one['if']?.['properties']?.modality?.const === modality)?.['then']?.['properties']
    assert.deepEqual(rule.endpoints.items.enum, known.ENDPOINTS_OF[modality])
    const price = definitions[rule.price.$ref.slice('#/$defs/'.length)]?.['properties'] ?? {}
    for (const key of Object.keys(price)) priced.add(key)
    if (known.COUNTED_BY[modality] !== '') assert.ok(known.COUNTED_BY[modality] in price, modality)
  }
  assert.deepEqual([...priced].sort(), [...AMOUNT_KEYS, 'long_context', 'sizes'].sort())
})
