import type { LoadOptions, LoadTarget } from './load/options.ts'

export type TargetName = 'nginx' | 'sluice' | 'direct'

/** The order of a round: every target is measured within seconds of the others. */
export const TARGET_NAMES: readonly TargetName[] = ['nginx', 'sluice', 'direct']

/** One kind of load. */
export interface BenchCase {
  readonly name: string
  readonly title: string
  /** The mock provider's model name, which says what it does; see bench/provider/options.ts. */
  readonly upstreamModel: string
  /** The model id that Sluice's catalog gives it. */
  readonly publicModel: string
  readonly streamed: boolean
  readonly tokens: number
  readonly connections: number
  /** Rounds in which it is measured; undefined is all of them. */
  readonly rounds?: number
  readonly rampMs?: number
}

export const SMALL = 'small'
export const LATENCY = 'latency'
export const STREAM_SHORT = 'stream-10'
export const STREAM = 'stream-100'
export const STREAM_LONG = 'stream-200'
export const PACED = 'paced'
export const SHORT_TOKENS = 10
export const LONG_TOKENS = 200

export const CASES: readonly BenchCase[] = [
  whole(SMALL, 'small answers, not streamed', 32),
  whole(LATENCY, 'small answers, one at a time', 1),
  stream(STREAM_SHORT, `streams of ${SHORT_TOKENS} chunks, unpaced`, SHORT_TOKENS),
  stream(STREAM, 'streams of 100 chunks, unpaced', 100),
  stream(STREAM_LONG, `streams of ${LONG_TOKENS} chunks, unpaced`, LONG_TOKENS),
  {
    ...stream(PACED, 'streams of 100 chunks, one every 20 ms', 100),
    upstreamModel: 'mock,chunks=100,delay=20',
    connections: 400,
    rounds: 2,
    rampMs: 1_000,
  },
]

function whole(name: string, title: string, connections: number): BenchCase {
  const tokens = 8
  const models = { upstreamModel: `mock,chunks=${tokens}`, publicModel: `bench/${name}` }
  return { name, title, ...models, streamed: false, tokens, connections }
}

function stream(name: string, title: string, tokens: number): BenchCase {
  const models = { upstreamModel: `mock,chunks=${tokens}`, publicModel: `bench/${name}` }
  return { name, title, ...models, streamed: true, tokens, connections: 16 }
}

/** The load of a case on a target. */
export function loadOptions(kind: BenchCase, target: LoadTarget, metered: boolean, seconds: number): LoadOptions {
  const request = {
    model: metered ? kind.publicModel : kind.upstreamModel,
    messages: [
      { role: 'system', content: 'You are a helpful assistant.' },
      { role: 'user', content: 'Say something short about the weather in Paris today.' },
    ],
    max_tokens: 1_000,
    ...(kind.streamed ? { stream: true, stream_options: { include_usage: true } } : {}),
  }
  return {
    target,
    body: JSON.stringify(request),
    streamed: kind.streamed,
    connections: kind.connections,
    seconds,
    expectedTokens: kind.tokens,
    expectUsage: true,
    expectReceipt: metered,
    ...(kind.rampMs === undefined ? {} : { rampMs: kind.rampMs }),
  }
}

/** Sluice's catalog for the benchmark: one model a case, all served by the mock provider. */
export function catalogYaml(providerPort: number): string {
  const models = CASES.map(
    (kind) => `  - id: ${kind.publicModel}
    name: Bench ${kind.name}
    owned_by: bench
    modality: chat
    endpoints: [chat]
    context: 128000
    max_output: 16384
    price: { input: "0.15", output: "0.60", cached_input: "0.075" }
    routes: [ { provider: mock, model: "${kind.upstreamModel}", enabled: true } ]
`,
  )
  return `coin: { usd: "1" }
providers:
  - { id: mock, base_url: "http://127.0.0.1:${providerPort}/v1", dialect: openai, api_key_env: BENCH_API_KEY, data_policy: none }
models:
${models.join('')}`
}
