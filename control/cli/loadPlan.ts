import { open, readFile } from 'node:fs/promises'
import { pipeline } from 'node:stream'
import { createGunzip } from 'node:zlib'
import { type Bars, durationMs, percentOf } from '../load/bars.ts'
import { type Climb, climbRates } from '../load/climb.ts'
import type { Allowance } from '../load/guard.ts'
import { type RequestKind, readMix } from '../load/kinds.ts'
import type { LoadLimits } from '../load/limits.ts'
import type { Pace } from '../load/loadRun.ts'
import type { LoadPlan, LoadTarget } from '../load/loadTest.ts'
import { readReplay } from '../load/replay.ts'
import { targetOf } from '../load/target.ts'
import { type Arguments, argument, type Command, flag, isSet, UsageError } from './command.ts'
import { type CliContext, CommandError } from './context.ts'
import { countOf } from './keySettings.ts'
import { amountOf } from './values.ts'

/** RFC 1952. */
const GZIP_MAGIC = Buffer.from([0x1f, 0x8b])
const CONNECTIONS = 10
const OPEN_LOOP_CONNECTIONS = 1_000
const SECONDS = 10
const PROMPT_TOKENS = 20

export const LOAD_FLAGS: NonNullable<Command['flags']> = {
  key: { value: 'KEY', help: 'the API key, which other users of the machine can see; rather set SLUICE_KEY' },
  'key-file': { value: 'FILE', help: 'a file with the API key' },
  keys: { value: 'FILE', help: 'a file with API keys, one a line, which take turns' },
  model: { value: 'MODEL', help: 'the model' },
  stream: { help: 'ask for streams' },
  'prompt-tokens': { value: 'N', help: `about that many tokens of prompt (${PROMPT_TOKENS})` },
  'max-tokens': { value: 'N', help: 'max_tokens of each request' },
  mix: { value: 'FILE', help: 'kinds of requests with their weights, as JSON' },
  replay: { value: 'FILE', help: 'the distribution of the requests in an export of receipts, never their contents' },
  connections: {
    value: 'N',
    help: `connections (${CONNECTIONS}); with a rate, the most (${OPEN_LOOP_CONNECTIONS})`,
  },
  requests: { value: 'N', help: 'end after this many requests' },
  seconds: { value: 'N', help: `begin no request later (${SECONDS}); of a climb, the length of each step` },
  rate: { value: 'R', help: 'open loop: R requests a second are due, and their times count from then' },
  'rate-from': { value: 'A', help: 'climb from this rate' },
  'rate-to': { value: 'B', help: 'climb to this rate, or until the p99 bends' },
  against: { value: 'URL', help: 'compare with this gateway, by turns' },
  'against-key-file': { value: 'FILE', help: 'a file with the API key of that gateway (the same key)' },
  'against-model': { value: 'MODEL', help: 'the model there (the same)' },
  'p99-ttft': { value: 'TIME', help: 'fail when the p99 until the first token is above, such as 300ms' },
  'p99-total': { value: 'TIME', help: 'fail when the p99 of whole answers is above, such as 2s' },
  errors: { value: 'SHARE', help: 'fail when more requests fail, such as 0.1%' },
  'max-cost': { value: 'USD', help: 'end before the charges of a gateway could exceed this' },
  yes: { help: 'send more than 10,000 requests without asking' },
  html: { value: 'FILE', help: 'write the report as a page with plots, too' },
}

/**
 * Reads a call of `sluice load`.
 * @throws UsageError, or CommandError for a file that does not fit
 */
export async function readLoadPlan(args: Arguments, context: CliContext): Promise<LoadPlan> {
  const { limits } = context
  const climb = climbOf(args, limits)
  const pace = paceOf(args, climb, limits)
  const kinds = await kindsOf(args, context)
  const first = { target: urlOf(argument(args, 'URL')), keys: await keysOf(args, context), kinds }
  const targets = [first, ...(await againstOf(args, first, context))]
  if (climb !== undefined && targets.length > 1) throw new UsageError('--against needs a fixed pace, not a climb')
  const bars = barsOf(args)
  const allowance = allowanceOf(args, plannedRequests({ pace, climb }, limits), limits)
  return { targets, pace, climb, allowance, bars }
}

/** How many requests each gateway will get; undefined where that depends on how fast it answers. */
export function plannedRequests(
  { pace, climb }: Pick<LoadPlan, 'pace' | 'climb'>,
  limits: LoadLimits,
): number | undefined {
  const { rate, requests, seconds } = pace
  const due = (perSecond: number): number => Math.min(requests, Math.max(1, Math.floor(perSecond * seconds)))
  if (climb !== undefined) return climbRates(climb, limits).reduce((sum, one) => sum + due(one), 0)
  if (rate !== undefined) return due(rate)
  return Number.isFinite(requests) ? requests : undefined
}

function allowanceOf(args: Arguments, planned: number | undefined, limits: LoadLimits): Allowance {
  if (planned !== undefined && planned > limits.loadRequestsMax) {
    throw new UsageError(`${planned} requests are too many; the most is ${limits.loadRequestsMax}`)
  }
  const unplanned = isSet(args, 'yes') ? limits.loadRequestsMax : limits.loadUnconfirmedMax
  const cost = flag(args, 'max-cost')
  const costUnits = cost === undefined ? undefined : BigInt(amountOf('max-cost', cost))
  return { requests: planned ?? unplanned, costUnits }
}

function climbOf(args: Arguments, { loadRateMax }: LoadLimits): Climb | undefined {
  const [from, to] = [within(args, 'rate-from', loadRateMax), within(args, 'rate-to', loadRateMax)]
  if (from === undefined && to === undefined) return undefined
  if (from === undefined || to === undefined || from > to) {
    throw new UsageError('a climb needs --rate-from A and --rate-to B, where B is not below A')
  }
  if (flag(args, 'rate') !== undefined) throw new UsageError('--rate and a climb exclude each other')
  return { from, to }
}

function paceOf(args: Arguments, climb: Climb | undefined, limits: LoadLimits): Pace {
  const rate = within(args, 'rate', limits.loadRateMax)
  const requests = within(args, 'requests', limits.loadRequestsMax)
  const seconds = within(args, 'seconds', limits.loadSecondsMax)
  if (climb !== undefined && requests !== undefined) throw new UsageError('a climb takes --seconds, not --requests')
  const isOpen = rate !== undefined || climb !== undefined
  const connections = isOpen ? OPEN_LOOP_CONNECTIONS : CONNECTIONS
  return {
    connections: within(args, 'connections', limits.loadConnectionsMax) ?? connections,
    seconds: seconds ?? (requests === undefined ? SECONDS : limits.loadSecondsMax),
    requests: requests ?? Number.POSITIVE_INFINITY,
    rate,
  }
}

async function kindsOf(args: Arguments, context: CliContext): Promise<RequestKind[]> {
  const { limits } = context
  const base: RequestKind = {
    model: flag(args, 'model') ?? '',
    promptTokens: within(args, 'prompt-tokens', limits.loadPromptTokensMax) ?? PROMPT_TOKENS,
    maxTokens: within(args, 'max-tokens', limits.loadPromptTokensMax),
    isStreamed: isSet(args, 'stream'),
    weight: 1,
  }
  const [mix, replay] = [flag(args, 'mix'), flag(args, 'replay')]
  if (mix !== undefined && replay !== undefined) throw new UsageError('--mix and --replay exclude each other')
  const file = mix ?? replay
  if (file === undefined && base.model === '') throw new UsageError('--model, --mix or --replay is missing')
  if (file === undefined) return [base]
  try {
    if (replay === undefined) return readMix(await textOf(file, context), base, limits)
    return await readReplay(await exportOf(context.pathOf(file)), flag(args, 'model'), limits)
  } catch (error) {
    throw new CommandError(`${file} does not fit: ${(error as Error).message}`)
  }
}

/** The text of an export, which is compressed as control writes it, or not. */
async function exportOf(path: string): Promise<AsyncIterable<string>> {
  const file = await open(path)
  const { buffer } = await file.read(Buffer.alloc(GZIP_MAGIC.length), 0, GZIP_MAGIC.length, 0)
  const bytes = file.createReadStream({ start: 0 })
  return (GZIP_MAGIC.equals(buffer) ? pipeline(bytes, createGunzip(), () => {}) : bytes).setEncoding('utf8')
}

async function keysOf(args: Arguments, context: CliContext): Promise<string[]> {
  const [key, keyFile, keysFile] = [flag(args, 'key'), flag(args, 'key-file'), flag(args, 'keys')]
  if ([key, keyFile, keysFile].filter((given) => given !== undefined).length > 1) {
    throw new UsageError('--key, --key-file and --keys exclude each other')
  }
  if (keysFile !== undefined) return keysIn(keysFile, context.limits.loadKeysMax, context)
  if (keyFile !== undefined) return keysIn(keyFile, 1, context)
  const only = key ?? context.apiKey
  if (only === undefined) throw new UsageError('the key is missing: set SLUICE_KEY, or use --key-file FILE')
  return [only]
}

async function keysIn(file: string, most: number, context: CliContext): Promise<string[]> {
  const lines = (await textOf(file, context)).split('\n').map((line) => line.trim())
  const keys = lines.filter((line) => line !== '')
  if (keys.length === 0 || keys.length > most) throw new CommandError(`${file} must have from 1 to ${most} keys`)
  if (keys.some((key) => !/^[\x21-\x7e]+$/.test(key))) throw new CommandError(`${file} has a line that is no key`)
  return keys
}

async function againstOf(args: Arguments, first: LoadTarget, context: CliContext): Promise<LoadTarget[]> {
  const url = flag(args, 'against')
  if (url === undefined) return []
  const [file, model] = [flag(args, 'against-key-file'), flag(args, 'against-model')]
  const keys = file === undefined ? first.keys : await keysIn(file, 1, context)
  const kinds = model === undefined ? first.kinds : first.kinds.map((kind) => ({ ...kind, model }))
  return [{ target: urlOf(url), keys, kinds }]
}

function barsOf(args: Arguments): Bars {
  const read = (name: string, parse: (text: string) => number | undefined, example: string): number | undefined => {
    const text = flag(args, name)
    const value = text === undefined ? undefined : parse(text)
    if (text === undefined || value !== undefined) return value
    throw new UsageError(`--${name} must be such as ${example}, not "${text}"`)
  }
  return {
    p99FirstMs: read('p99-ttft', durationMs, '300ms'),
    p99TotalMs: read('p99-total', durationMs, '2s'),
    errorsPercent: read('errors', percentOf, '0.1%'),
  }
}

function urlOf(text: string): LoadTarget['target'] {
  const target = targetOf(text)
  if (target === undefined)
    throw new UsageError(`a gateway is a URL such as https://gateway.example.com, not "${text}"`)
  return target
}

function within(args: Arguments, name: string, most: number): number | undefined {
  const count = countOf(args, name, 'from 1')
  if (count === undefined || (count >= 1 && count <= most)) return count
  throw new UsageError(`--${name} must be from 1 to ${most}, not ${count}`)
}

async function textOf(file: string, context: CliContext): Promise<string> {
  return readFile(context.pathOf(file), 'utf8').catch((error: Error) => {
    throw new CommandError(`${file} cannot be read: ${error.message}`)
  })
}
