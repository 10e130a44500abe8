/** The measured targets, in the order of a round: every target is measured within seconds of the others. */
export const TARGET_NAMES = ['nginx', 'haproxy', 'bare', 'portkey', 'proxy-only', 'sluice', 'direct'] as const
export type TargetName = (typeof TARGET_NAMES)[number]

/** How targets are called in the report. */
export const TARGET_TITLES: Readonly<Record<TargetName, string>> = {
  nginx: 'nginx',
  haproxy: 'haproxy',
  bare: 'bare relay',
  portkey: 'Portkey',
  'proxy-only': 'Sluice, proxy only',
  sluice: 'Sluice, full money path',
  direct: 'no gateway',
}

/** The content of the prompt. */
export type Prompt = 'short' | '64k' | 'images'

/** One kind of load. */
export interface BenchCase {
  readonly name: string
  readonly title: string
  /** The mock provider's model name, which selects its behaviour; see mock/options.ts. */
  readonly upstreamModel: string
  /** The model id that Sluice's catalog gives it. */
  readonly publicModel: string
  readonly streamed: boolean
  readonly tokens: number
  readonly connections: number
  readonly prompt: Prompt
  readonly targets: readonly TargetName[]
  /** Requests take the API keys of the stack in turn. */
  readonly rotatesKeys?: boolean
  /** The provider is reached over TLS. */
  readonly tls?: boolean
  /** A chunk of every stream is due so often. */
  readonly paceMs?: number
  /** Rounds in which it is measured; undefined is all of them. */
  readonly rounds?: number
  /** Seconds of a measurement where it needs more than the others. */
  readonly seconds?: number
  readonly rampMs?: number
}

export const SMALL = 'small'
export const LATENCY = 'latency'
export const STREAM_SHORT = 'stream-10'
export const STREAM = 'stream-100'
export const STREAM_LONG = 'stream-200'
export const STREAM_FLUSHED = 'stream-flushed'
export const PROMPT = 'prompt-64k'
export const IMAGES = 'body-1m'
export const KEYS = 'keys-1000'
export const TLS_SMALL = 'tls-small'
export const TLS_STREAM = 'tls-stream-100'
export const TLS_FLUSHED = 'tls-stream-flushed'
export const SHORT_TOKENS = 10
export const LONG_TOKENS = 200
export const STREAM_TOKENS = 100
const SMALL_TOKENS = 8
const IMAGE_PROMPT_TOKENS = 4_600
/** Concurrent streams in the paced cases. */
export const PACED_CONNECTIONS = [100, 500, 1_000, 2_000] as const
export const PACE_MS = 20
/** The name of a paced case. */
export const paced = (connections: number): string => `paced-${connections}`

const GATEWAYS: readonly TargetName[] = ['nginx', 'haproxy', 'proxy-only', 'sluice']
const ALL = TARGET_NAMES
const WITHOUT_PORTKEY: readonly TargetName[] = [...GATEWAYS, 'bare', 'direct']
const OVER_TLS: readonly TargetName[] = [...GATEWAYS, 'bare']

export const CASES: readonly BenchCase[] = [
  whole(SMALL, 'small answer, not streamed', ALL),
  { ...whole(LATENCY, 'small answer, one at a time', WITHOUT_PORTKEY), connections: 1 },
  stream(STREAM_SHORT, 'stream of 10 chunks', SHORT_TOKENS, ['nginx', 'proxy-only', 'sluice']),
  stream(STREAM, 'stream of 100 chunks', STREAM_TOKENS, ALL),
  stream(STREAM_LONG, 'stream of 200 chunks', LONG_TOKENS, ['nginx', 'proxy-only', 'sluice']),
  {
    ...stream(STREAM_FLUSHED, 'stream of 100 chunks, each written by itself', STREAM_TOKENS, ALL),
    upstreamModel: `mock,chunks=${STREAM_TOKENS},flush`,
  },
  { ...whole(PROMPT, 'prompt of 64 KiB', GATEWAYS), prompt: '64k', connections: 16, rounds: 3 },
  {
    ...whole(IMAGES, 'body of 1 MiB with images', GATEWAYS),
    // Counted by its bytes, the prompt would be more than the model takes.
    upstreamModel: `mock,chunks=${SMALL_TOKENS},prompt=${IMAGE_PROMPT_TOKENS}`,
    prompt: 'images',
    connections: 4,
    rounds: 3,
  },
  { ...whole(KEYS, '1,000 API keys in turn', ['nginx', 'sluice']), rotatesKeys: true, rounds: 3 },
  { ...whole(TLS_SMALL, 'small answer over TLS', OVER_TLS), tls: true },
  { ...stream(TLS_STREAM, 'stream of 100 chunks over TLS', STREAM_TOKENS, OVER_TLS), tls: true },
  {
    ...stream(TLS_FLUSHED, 'stream of 100 chunks over TLS, each written by itself', STREAM_TOKENS, OVER_TLS),
    upstreamModel: `mock,chunks=${STREAM_TOKENS},flush`,
    tls: true,
  },
  ...PACED_CONNECTIONS.map((connections) => pacedStreams(connections)),
]

/** The case of a name. */
export function caseNamed(name: string): BenchCase {
  const found = CASES.find((kind) => kind.name === name)
  if (found === undefined) throw new Error(`there is no case ${name}`)
  return found
}

function whole(name: string, title: string, targets: readonly TargetName[]): BenchCase {
  const models = { upstreamModel: `mock,chunks=${SMALL_TOKENS}`, publicModel: `bench/${name}` }
  return { name, title, ...models, streamed: false, tokens: SMALL_TOKENS, connections: 32, prompt: 'short', targets }
}

function stream(name: string, title: string, tokens: number, targets: readonly TargetName[]): BenchCase {
  const models = { upstreamModel: `mock,chunks=${tokens}`, publicModel: `bench/${name}` }
  return { name, title, ...models, streamed: true, tokens, connections: 16, prompt: 'short', targets }
}

// Long enough for every connection to have at least two whole streams of two seconds.
function pacedStreams(connections: number): BenchCase {
  const title = `${connections.toLocaleString('en-US')} streams of 100 chunks, one every ${PACE_MS} ms`
  return {
    ...stream(paced(connections), title, STREAM_TOKENS, ['nginx', 'sluice', 'direct']),
    upstreamModel: `mock,chunks=${STREAM_TOKENS},delay=${PACE_MS}`,
    connections,
    paceMs: PACE_MS,
    rounds: 2,
    seconds: 3.5,
    rampMs: 1_000,
  }
}
