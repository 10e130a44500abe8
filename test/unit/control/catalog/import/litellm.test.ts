// Goal: a catalog that is made from LiteLLM's configuration is one that the gateway takes, sells nothing at a price that nobody
// has set, has no secret in it, and says what it leaves out.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parse } from 'yaml'
import type { Draft } from '../../../../../control/catalog/import/draft.ts'
import { draftText } from '../../../../../control/catalog/import/draftText.ts'
import { fromLitellm } from '../../../../../control/catalog/import/litellm.ts'
import { ModelPrices } from '../../../../../control/catalog/import/modelPrices.ts'
import { secretsOf } from '../../../../../control/catalog/import/readImported.ts'
import { parseCatalog } from '../../../../../control/catalog/pricing/catalogFile.ts'
import { itemOf } from '../../../../support/present.ts'

const PRICES = new ModelPrices({
  'gpt-4.1': {
    litellm_provider: 'openai',
    mode: 'chat',
    max_input_tokens: 1_047_576,
    max_output_tokens: 32_768,
    input_cost_per_token: 2e-6,
    output_cost_per_token: 8e-6,
    cache_read_input_token_cost: 5e-7,
    input_cost_per_token_batches: 1e-6,
  },
  'claude-sonnet-4-5': {
    litellm_provider: 'anthropic',
    mode: 'chat',
    max_input_tokens: '200000',
    max_output_tokens: 64_000,
    input_cost_per_token: '0.000003',
    output_cost_per_token: 0.000_015,
    cache_creation_input_token_cost: 3.75e-6,
  },
  'text-embedding-3-small': {
    litellm_provider: 'openai',
    mode: 'embedding',
    max_input_tokens: 8_191,
    input_cost_per_token: 2e-8,
  },
})

/** What a configuration may say of a model. */
const FACTS =
  '{ mode: chat, max_input_tokens: 1000, max_output_tokens: 100, input_cost_per_token: 0.000001, output_cost_per_token: 0.000002 }'

function drafted(yaml: string): Draft {
  return fromLitellm(parse(yaml), PRICES)
}

test('models, prices, keys and routes are carried over, and the catalog is taken', () => {
  const draft = drafted(`
model_list:
  - { model_name: gpt-4.1, litellm_params: { model: openai/gpt-4.1, api_key: os.environ/OPENAI_A, rpm: 480, tpm: 100000 } }
  - { model_name: gpt-4.1, litellm_params: { model: openai/gpt-4.1, api_key: os.environ/OPENAI_B, rpm: 60 } }
  - { model_name: gpt-4.1, litellm_params: { model: azure/my-gpt, api_base: "https://r.openai.azure.com/", api_key: os.environ/AZURE_KEY, order: 2 }, model_info: { base_model: gpt-4.1 } }
  - { model_name: claude, litellm_params: { model: anthropic/claude-sonnet-4-5, api_key: os.environ/ANTHROPIC_API_KEY } }
  - { model_name: embed, litellm_params: { model: text-embedding-3-small, api_key: os.environ/OPENAI_A } }
  - { model_name: own, litellm_params: { model: openai/llama, api_base: "http://10.0.0.5:8000/v1/" }, model_info: { max_input_tokens: 8192, max_output_tokens: 4096, input_cost_per_token: 1.5e-07, output_cost_per_token: 0 } }
`)
  const catalog = parseCatalog('c.yaml', draftText(draft))
  const models = Object.fromEntries(catalog.models.map((model) => [model.id, model]))
  assert.deepEqual(Object.keys(models), ['gpt-4.1', 'claude', 'embed', 'own'])
  const providers = catalog.providers.map(({ id, baseUrl, dialect }) => [id, baseUrl, dialect])
  assert.deepEqual(providers, [
    ['openai', 'https://api.openai.com/v1', 'openai'],
    ['azure', 'https://r.openai.azure.com/openai/v1', 'openai'],
    ['anthropic', 'https://api.anthropic.com/v1', 'anthropic'],
    ['10.0.0.5', 'http://10.0.0.5:8000/v1', 'openai'],
  ])
  const written = parse(draftText(draft)) as { providers: Record<string, unknown>[]; models: Record<string, unknown>[] }
  assert.deepEqual(itemOf(written.providers, 0)['keys'], [
    { id: 'key-1', env: 'OPENAI_A' },
    { id: 'key-2', env: 'OPENAI_B', models: ['gpt-4.1'] },
  ])
  assert.equal(itemOf(written.providers, 1)['api_key_env'], 'AZURE_KEY')
  assert.deepEqual(itemOf(written.models, 0), {
    id: 'gpt-4.1',
    owned_by: 'openai',
    modality: 'chat',
    endpoints: ['chat', 'messages', 'responses'],
    context: 1_047_576,
    max_output: 32_768,
    // A batch price needs both of its halves.
    price: { input: '2', output: '8', cached_input: '0.5' },
    routes: [
      { provider: 'openai', model: 'gpt-4.1' },
      { provider: 'azure', model: 'my-gpt' },
    ],
  })
  assert.deepEqual(itemOf(written.models, 1)['price'], { input: '3', output: '15', cache_write_5m: '3.75' })
  assert.deepEqual(itemOf(written.models, 2)['price'], { input: '0.02' })
  assert.deepEqual(itemOf(written.models, 3)['price'], { input: '0.15', output: '0' })
})

test('keys that the file has are in no catalog; each has the name of its variable', () => {
  const draft = drafted(`
model_list:
  - { model_name: a, litellm_params: { model: groq/a, api_key: gsk-secret-1 } }
  - { model_name: b, litellm_params: { model: groq/b, api_key: gsk-secret-2 } }
  - { model_name: c, litellm_params: { model: groq/c, api_key: gsk-secret-1 } }
`)
  assert.doesNotMatch(draftText(draft), /secret/)
  assert.deepEqual(secretsOf(draft), [
    { env: 'GROQ_API_KEY', secret: 'gsk-secret-1' },
    { env: 'GROQ_API_KEY_2', secret: 'gsk-secret-2' },
  ])
})

test('a model without a price, a context or an output limit is a comment, which is a catalog entry once it is filled in', () => {
  const draft = drafted(`
model_list:
  - { model_name: gpt-4.1, litellm_params: { model: openai/gpt-4.1, api_key: os.environ/K } }
  - { model_name: new, litellm_params: { model: openai/new, api_key: os.environ/K } }
`)
  const text = draftText(draft)
  assert.deepEqual(
    parseCatalog('c.yaml', text).models.map(({ id }) => id),
    ['gpt-4.1'],
  )
  const filled = text
    .replace(/^# These models.*\n/m, '')
    .replace(/^# {2}( .*|-.*)$/gm, '  $1')
    .replace('price: {}', 'price: { input: "1", output: "1" }\n    context: 10\n    max_output: 5')
  assert.deepEqual(
    parseCatalog('c.yaml', filled).models.map(({ id }) => id),
    ['gpt-4.1', 'new'],
  )
})

test('what is left out is said with its place', () => {
  const { notes } = drafted(`
model_list:
  - { model_name: "openai/*", litellm_params: { model: "openai/*", api_key: os.environ/K } }
  - { model_name: b, litellm_params: { model: bedrock/claude, aws_region_name: us-east-1 } }
  - { model_name: z, litellm_params: { model: azure/z } }
  - { litellm_params: { model: openai/a } }
  - 7
  - { model_name: "my model", litellm_params: { model: openai/gpt-4.1, timeout: 30, rpm: 5 } }
litellm_settings: { fallbacks: [{ a: [b] }], cache: true, num_retries: 3 }
router_settings: { routing_strategy: least-busy }
`)
  assert.deepEqual(
    notes.map((note) => note.replace(/^([^:]+: .{0,24}).*$/, '$1')),
    [
      'model_list[0]: "openai/*" stands for ma',
      'model_list[1]: the provider "bedrock" h',
      'model_list[2]: it has no api_base; base',
      'model_list[3]: it has no model_name, or',
      'model_list[4]: it has no model_name, or',
      'model_list[5]: "my model" is no id of t',
      'model_list[5].litellm_params.timeout: there is no such setting',
      'model_list[5].litellm_params.rpm: write it as requests_per',
      'litellm_settings.fallbacks[0]: "a" is no chat model of ',
      'litellm_settings.cache: answers are not cached',
      'router_settings.routing_strategy: routes share conversatio',
    ],
  )
})

test('fallbacks become those of the models, with their reasons', () => {
  const deployments = ['gpt-4.1', 'gpt-4.1-mini', 'gpt-4o', 'o3', 'gpt-4o-mini'].map(
    (name) =>
      `  - { model_name: ${name}, litellm_params: { model: openai/${name}, api_key: os.environ/K }, model_info: ${FACTS} }`,
  )
  const draft = drafted(`
model_list:
${deployments.join('\n')}
  - { model_name: unpriced, litellm_params: { model: openai/unpriced, api_key: os.environ/K } }
litellm_settings:
  fallbacks: [{ gpt-4.1: [gpt-4.1-mini, gpt-4o, gone, gpt-4.1] }, { o3: [gpt-4.1, gpt-4o, gpt-4.1-mini, gpt-4o-mini] }]
router_settings:
  context_window_fallbacks: [{ gpt-4.1: [gpt-4.1-mini] }, { gpt-4o: [o3, unpriced] }]
`)
  const { models } = parseCatalog('c.yaml', draftText(draft))
  const fallbacksOf = (id: string) => models.find((model) => model.id === id)?.fallbacks
  const often = ['unavailable', 'rate_limited']
  assert.deepEqual(fallbacksOf('gpt-4.1'), [
    { model: 'gpt-4.1-mini', on: [...often, 'context_length'] },
    { model: 'gpt-4o', on: often },
  ])
  assert.deepEqual(fallbacksOf('gpt-4o'), [{ model: 'o3', on: ['context_length'] }])
  assert.deepEqual(
    fallbacksOf('o3')?.map(({ model }) => model),
    ['gpt-4.1', 'gpt-4o', 'gpt-4.1-mini'],
  )
  assert.deepEqual(draft.notes, [
    'litellm_settings.fallbacks[0]: "gone" is no other chat model of the catalog',
    'litellm_settings.fallbacks[0]: "gpt-4.1" is no other chat model of the catalog',
    'litellm_settings.fallbacks[1]: a model falls back to at most 3 others; "gpt-4o-mini" is left out',
  ])
})

test('files that are no configuration have no models, and say so', () => {
  for (const file of [undefined, null, 7, 'text', [], {}, { model_list: {} }, { model_list: [null, [], 'x'] }]) {
    const draft = fromLitellm(file, new ModelPrices(file))
    assert.equal(draft.models.size, 0)
    assert.ok(draft.notes.length > 0)
  }
})
