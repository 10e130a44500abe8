// Goal: targets of a Portkey config become routes that are asked in the same order and share.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Draft } from '../../../../../control/catalog/import/draft.ts'
import { draftText } from '../../../../../control/catalog/import/draftText.ts'
import { ModelPrices } from '../../../../../control/catalog/import/modelPrices.ts'
import { fromPortkey } from '../../../../../control/catalog/import/portkey.ts'
import { parseCatalog } from '../../../../../control/catalog/pricing/catalogFile.ts'

const PRICES = new ModelPrices({
  m: { max_input_tokens: 1_000, max_output_tokens: 100, input_cost_per_token: 1e-6, output_cost_per_token: 2e-6 },
})
const drafted = (config: unknown): Draft => fromPortkey(config, PRICES, 'm')
const routesOf = (config: unknown) => drafted(config).models.get('m')?.routes

test('a fallback is asked in its order, a load balancer by its weights, one within the other too', () => {
  const openai = { provider: 'openai', api_key: 'sk-a' }
  const groq = { provider: '@groq', api_key: 'sk-b', override_params: { model: 'llama' } }
  const own = { custom_host: 'https://own.example/v1/', provider: 'openai', api_key: 'sk-c' }
  assert.deepEqual(routesOf({ strategy: { mode: 'fallback' }, targets: [openai, groq] }), [
    { provider: 'openai', model: 'm', priority: 1 },
    { provider: 'groq', model: 'llama', priority: 2 },
  ])
  const shared = {
    strategy: { mode: 'loadbalance' },
    targets: [
      { ...openai, weight: 0.75 },
      { ...groq, weight: 0.25 },
    ],
  }
  assert.deepEqual(routesOf(shared), [
    { provider: 'openai', model: 'm', priority: 1, weight: 75 },
    { provider: 'groq', model: 'llama', priority: 1, weight: 25 },
  ])
  const both = { strategy: { mode: 'fallback' }, targets: [shared, own] }
  assert.deepEqual(routesOf(both), [
    { provider: 'openai', model: 'm', priority: 1, weight: 75 },
    { provider: 'groq', model: 'llama', priority: 1, weight: 25 },
    { provider: 'openai-2', model: 'm', priority: 2 },
  ])
  assert.deepEqual(parseCatalog('c.yaml', draftText(drafted(both))).providers.at(-1)?.baseUrl, 'https://own.example/v1')
  assert.doesNotMatch(draftText(drafted(both)), /sk-/)
})

test('a target without a strategy is the only route; a target takes the key of those above it', () => {
  assert.deepEqual(routesOf({ provider: 'deepseek', api_key: 'k' }), [
    { provider: 'deepseek', model: 'm', priority: 1 },
  ])
  const inherited = { provider: 'groq', api_key: 'k', targets: [{ override_params: { model: 'a' } }] }
  assert.deepEqual(routesOf(inherited), [{ provider: 'groq', model: 'a', priority: 1 }])
  assert.equal(drafted(inherited).notes.length, 0)
})

test('what is left out is said with its place', () => {
  const { notes } = drafted({
    strategy: { mode: 'loadbalance', on_status_codes: [429] },
    targets: [
      { provider: 'openai', virtual_key: 'openai-prod', weight: 1, cache: { mode: 'semantic' } },
      { virtual_key: 'some-key' },
      { provider: 'groq', api_key: 'k', weight: 0 },
      { strategy: { mode: 'conditional' }, targets: [{ provider: 'groq', api_key: 'k' }] },
    ],
  })
  assert.deepEqual(
    notes.map((note) => note.split(': ', 1)[0]),
    [
      'config.strategy.on_status_codes',
      'config.targets[0]',
      'config.targets[0].cache',
      'config.targets[1]',
      'config.targets[2]',
      'config.targets[3].strategy',
    ],
  )
  let deep: object = { provider: 'openai', api_key: 'k' }
  for (let i = 0; i < 100; i++) deep = { targets: [deep] }
  assert.match(drafted(deep).notes.join(), /to a depth of 8/)
  for (const file of [undefined, 7, [], {}]) assert.equal(drafted(file).models.size, 0)
})
