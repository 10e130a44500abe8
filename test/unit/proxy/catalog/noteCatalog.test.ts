// Goal: an operator reads in the log which variable a provider or a tool lacks. Method: a catalog as control publishes it, decoded
// with an environment that has the key, lacks it, or has it empty.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { pino } from 'pino'
import { sluice } from '../../../../contract/wire/generated/messages.js'
import { decodeCatalog } from '../../../../proxy/catalog/catalog.ts'
import { noteCatalog } from '../../../../proxy/catalog/noteCatalog.ts'

const PUBLISHED = sluice.CatalogRecord.encode({
  version: 7,
  coinUsdUnits: 1,
  providers: [
    { id: 'acme', baseUrl: 'https://acme.example/v1', dialect: 'openai', apiKeyEnv: 'MY_VLLM_KEY' },
    { id: 'open', baseUrl: 'https://open.example/v1', dialect: 'openai' },
  ],
  tools: [
    {
      id: 'search',
      baseUrl: 'https://search.example',
      apiKeyEnv: 'SEARCH_KEY',
      enabled: true,
      inputSchema: '{}',
      request: '{}',
    },
  ],
}).finish()

function missingWith(environment: NodeJS.ProcessEnv): unknown[] {
  const lines: Record<string, unknown>[] = []
  const log = pino({}, { write: (line: string) => lines.push(JSON.parse(line)) })
  noteCatalog(decodeCatalog(PUBLISHED, environment), { setDisabled: () => {}, keysChanged: () => {} }, log)
  return lines
    .filter(({ event }) => String(event).endsWith('_key_missing'))
    .map(({ event, level, provider, tool, variable }) => [event, level, provider ?? tool, variable])
}

test('the log names the variable of each key that is missing, and no key that is there', () => {
  const acme = ['provider_key_missing', 40, 'acme', 'MY_VLLM_KEY']
  const search = ['tool_key_missing', 40, 'search', 'SEARCH_KEY']
  assert.deepEqual(missingWith({}), [acme, search])
  assert.deepEqual(missingWith({ MY_VLLM_KEY: ' ', SEARCH_KEY: 'x' }), [acme])
  assert.deepEqual(missingWith({ MY_VLLM_KEY: 'x', SEARCH_KEY: 'y' }), [])
})
