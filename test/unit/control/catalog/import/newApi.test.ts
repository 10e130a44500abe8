// Goal: channels of new-api become providers, keys and routes in the order in which that gateway would have asked them.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { draftText } from '../../../../../control/catalog/import/draftText.ts'
import { ModelPrices } from '../../../../../control/catalog/import/modelPrices.ts'
import { fromNewApi } from '../../../../../control/catalog/import/newApi.ts'
import { secretsOf } from '../../../../../control/catalog/import/readImported.ts'
import { parseCatalog } from '../../../../../control/catalog/pricing/catalogFile.ts'
import { present } from '../../../../support/present.ts'

const FACTS = {
  mode: 'chat',
  max_input_tokens: 1_000,
  max_output_tokens: 100,
  input_cost_per_token: 1e-6,
  output_cost_per_token: 2e-6,
}
const PRICES = new ModelPrices({ 'gpt-x': FACTS, 'deepseek-chat': FACTS })
const CHANNELS = [
  { name: 'main', type: 1, status: 1, key: 'sk-1\nsk-2\n', models: 'gpt-x', priority: 10, weight: 3 },
  {
    name: 'Zweite Quelle',
    type: 8,
    status: 1,
    key: 'sk-3',
    base_url: 'https://relay.example/',
    models: 'gpt-x, chat',
    model_mapping: '{"chat":"deepseek-chat"}',
    priority: 5,
  },
  { name: 'off', type: 14, status: 2, key: 'sk-4', models: 'claude' },
  { name: 'deep', type: 43, status: 1, key: 'sk-5', models: 'deepseek-chat', group: 'vip', priority: 5 },
  { name: 'odd', type: 99, status: 1, key: 'sk-6', models: 'x' },
]

for (const [form, file] of Object.entries({
  list: CHANNELS,
  data: { success: true, data: CHANNELS },
  items: { data: { items: CHANNELS, total: 5 } },
})) {
  test(`channels as ${form}: the highest priority there is asked first here`, () => {
    const draft = fromNewApi(file, PRICES)
    const catalog = parseCatalog('c.yaml', draftText(draft))
    assert.deepEqual(
      catalog.providers.map(({ id, baseUrl }) => [id, baseUrl]),
      [
        ['openai', 'https://api.openai.com/v1'],
        ['zweite-quelle', 'https://relay.example/v1'],
        ['deepseek', 'https://api.deepseek.com/v1'],
      ],
    )
    assert.deepEqual(present(draft.models.get('gpt-x')).routes, [
      { provider: 'openai', model: 'gpt-x', priority: 1, weight: 3 },
      { provider: 'zweite-quelle', model: 'gpt-x', priority: 2 },
    ])
    assert.deepEqual(present(draft.models.get('chat')).routes, [
      { provider: 'zweite-quelle', model: 'deepseek-chat', priority: 2 },
    ])
    assert.deepEqual(
      secretsOf(draft).map(({ env, secret }) => `${env}=${secret}`),
      ['OPENAI_API_KEY=sk-1', 'OPENAI_API_KEY_2=sk-2', 'ZWEITE_QUELLE_API_KEY=sk-3', 'DEEPSEEK_API_KEY=sk-5'],
    )
    assert.doesNotMatch(draftText(draft), /sk-/)
    assert.deepEqual(
      draft.notes.map((note) => note.slice(0, 24)),
      ['channel off: it is switc', 'channel deep: group: key', 'channel odd: channels of'],
    )
  })
}

test('an address with the version or the path of the API is not given it twice', () => {
  const addressOf = (type: number, base_url: string) =>
    [...fromNewApi([{ name: 'a', type, status: 1, key: 'k', models: 'm', base_url }], PRICES).providers.values()].map(
      ({ baseUrl }) => baseUrl,
    )
  for (const [type, own] of [
    [1, 'https://a.example/v1'],
    [43, 'https://a.example/v1'],
    [3, 'https://r.openai.azure.com/openai/v1'],
  ] as const) {
    assert.deepEqual(addressOf(type, own), [own])
    assert.deepEqual(addressOf(type, `${own.replace(/\/(openai\/)?v1$/, '')}/`), [own])
  }
})

test('a mapping that is no JSON, and a file without channels, are said', () => {
  const broken = { ...CHANNELS[0], model_mapping: '{' }
  assert.match(fromNewApi([broken], PRICES).notes.join(), /model_mapping: it is no JSON object/)
  for (const file of [undefined, 7, {}, { data: null }, []]) {
    assert.deepEqual(fromNewApi(file, PRICES).notes, ['the file: it has no list of channels'])
  }
})
