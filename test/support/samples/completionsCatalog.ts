import type { TestCatalogOptions } from '../testCatalog.ts'

/** Chunks of a streamed answer. */
export const CHUNKS = 12
/** The text of every answer. */
export const TEXT = Array.from({ length: CHUNKS }, (_, i) => ` tok${i}`).join('')
/** Behaviours of the mock provider that leave an answer whole. */
export const WHOLE = [
  'prompt=11',
  'eol=crlf',
  'comments,bom',
  'multiline',
  'split=1',
  'split=7,eol=cr',
  'batch=5',
  'donetext',
  'preamble=azure',
  'usage=finish',
  'usage=every',
  'usage=twice',
  'done=no',
  'prompt=11,cached=3,cache_write=2',
]
/** Behaviours that break a stream off. */
export const BROKEN = ['cut=3', 'fin=3', 'hang=3', 'error_in_stream=3', 'badframe=3']
/** Behaviours without any output. */
export const USELESS = ['reset', 'html200', 'badjson', 'error=500', 'error_in_stream=0', 'cut=0', 'fin=0']
/** Behaviours without a usable report of usage. */
export const UNREPORTED = ['usage=none', 'usage=absurd']
const ENDPOINTS = ['completions']

/** The model of the mock provider that behaves so. */
export const upstream = (behaviour: string) => `mock,chunks=${CHUNKS},${behaviour}`
/** The model of the catalog that behaves so. */
export const idOf = (behaviour: string) => `test/${behaviour.replaceAll(/[^a-z0-9]+/g, '-')}`

/** Models that complete texts, one for each behaviour of their provider. @param scriptedUrl where the scripted provider is */
export function completionsCatalog(scriptedUrl: string): TestCatalogOptions {
  const served = [...WHOLE, ...BROKEN, ...USELESS, ...UNREPORTED, 'echo', 'error=400']
  return {
    providers: [
      { id: 'mock' },
      { id: 'renamed', max_tokens_field: 'max_completion_tokens' },
      { id: 'other', dialect: 'anthropic' },
      { id: 'scripted', base_url: scriptedUrl },
    ],
    models: [
      ...served.map((behaviour) => ({ id: idOf(behaviour), upstream: upstream(behaviour), endpoints: ENDPOINTS })),
      ...USELESS.map((behaviour) => ({
        id: `${idOf(behaviour)}-spare`,
        endpoints: ENDPOINTS,
        routes: [
          { provider: 'mock', model: upstream(`${behaviour},prompt=999`) },
          { provider: 'mock', model: upstream('prompt=11') },
        ],
      })),
      {
        id: 'test/mixed',
        endpoints: ENDPOINTS,
        routes: [
          { provider: 'other', model: upstream('prompt=11') },
          { provider: 'renamed', model: upstream('echo') },
        ],
      },
      { id: 'test/odd', endpoints: ENDPOINTS, routes: [{ provider: 'scripted', model: 'odd' }] },
      { id: 'test/chat-only', endpoints: ['chat'] },
      { id: 'test/attested', endpoints: ENDPOINTS, attested: true },
      { id: 'test/tiny', endpoints: ENDPOINTS, context: 1_000, max_output: 500 },
    ],
  }
}
