import type { TestTool } from '../testCatalog.ts'
import type { Reply } from './chatClient.ts'
import { send } from './mediaClient.ts'

/** Prices of `searchTool` and `scrapeTool` in units, and what their upstream charges. */
export const SEARCH = {
  price: { call: 1_050_000, result: 210_000 },
  cost: { call: 1_000_000, result: 200_000 },
} as const
export const SCRAPE = { price: 2_100_000, cost: 2_000_000 } as const

/** A search tool over the mock provider, which behaves as `upstream` says. */
export function searchTool(id: string, upstream = 'mock', more: Record<string, unknown> = {}): TestTool {
  return {
    id,
    description: 'Searches the web.',
    data_policy: 'retained',
    price: { base: '0.00105', result: '0.00021' },
    cost: { base: '0.001', result: '0.0002' },
    limit: 'count',
    results_max: 10,
    input_schema: {
      type: 'object',
      properties: {
        query: { type: 'string', minLength: 1, maxLength: 400 },
        count: { type: 'integer', minimum: 1, maximum: 10, default: 3 },
        language: { type: 'string' },
      },
      required: ['query'],
      additionalProperties: false,
    },
    upstream: {
      path: '/search',
      api_key_env: 'SLUICE_TEST_PROVIDER_KEY',
      request: { model: upstream, q: '{query}', num: '{count}', lang: '{language}' },
      results: '/web/results',
      result: { title: '/title', url: '/link', snippet: '/description' },
      billed: '/usage/results',
    },
    ...more,
  }
}

/** A scraping tool over the mock provider. */
export function scrapeTool(id: string, upstream = 'mock', more: Record<string, unknown> = {}): TestTool {
  return {
    id,
    description: 'Reads a web page.',
    data_policy: 'retained',
    price: { call: '0.0021' },
    cost: { call: '0.002' },
    public_url: 'url',
    input_schema: {
      type: 'object',
      properties: { url: { type: 'string', format: 'uri', maxLength: 2048 } },
      required: ['url'],
      additionalProperties: false,
    },
    upstream: {
      path: '/scrape',
      api_key_env: 'SLUICE_TEST_PROVIDER_KEY',
      request: { model: upstream, url: '{url}' },
      output: { url: '/data/url', title: '/data/title', content: '/data/markdown' },
      final_url: '/data/url',
    },
    ...more,
  }
}

/** Calls a tool. */
export function callTool(
  baseUrl: string,
  apiKey: string,
  id: string,
  input: unknown,
  headers: Record<string, string> = {},
): Promise<Reply> {
  const body = typeof input === 'string' ? input : JSON.stringify(input)
  return send(`${baseUrl}/v1/tools/${id}`, apiKey, body, { 'content-type': 'application/json', ...headers })
}
