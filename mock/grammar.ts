import type { FlagOption, IntegerOption, WordOption } from './options.ts'
import { FLAG_OPTIONS, INTEGER_OPTIONS, WORD_OPTIONS } from './options.ts'
import { QUIRKS, type Quirks } from './quirks.ts'

/** The mock provider's behaviour for one model name. `undefined` means that the option was not given. */
export interface Behaviour extends Readonly<Record<FlagOption, boolean>> {
  readonly name: string
  readonly integers: Readonly<Partial<Record<IntegerOption, number>>>
  readonly words: Readonly<Partial<Record<WordOption, string>>>
  readonly text: string | undefined
  /** Of the provider that it plays. */
  readonly quirks: Quirks | undefined
  /** Content frames of an answer without a token limit, one token each. */
  readonly chunks: number
  /** Content frames per write. */
  readonly batch: number
  /** Milliseconds between writes; 0 is as fast as the reader takes them. */
  readonly delayMs: number
  readonly ttftMs: number
  readonly slowHeadersMs: number
}

const DEFAULT_CHUNKS = 16
const BEHAVIOURS_MAX = 1_000
const cache = new Map<string, Behaviour>()

/**
 * The behaviour that a model name asks for: `label,key=value,flag,...`. A name without a comma behaves by default.
 * @throws Error naming the part that is not in the grammar, so that a test with a slip in it fails
 */
export function behaviourOf(modelName: string): Behaviour {
  const known = cache.get(modelName)
  if (known !== undefined) return known
  const parsed = parseBehaviour(modelName)
  if (cache.size >= BEHAVIOURS_MAX) cache.clear()
  cache.set(modelName, parsed)
  return parsed
}

function parseBehaviour(modelName: string): Behaviour {
  const integers: Partial<Record<IntegerOption, number>> = {}
  const words: Partial<Record<WordOption, string>> = {}
  const flags = Object.fromEntries(FLAG_OPTIONS.map((name) => [name, false])) as Record<FlagOption, boolean>
  let text: string | undefined
  const own = modelName.split(',').slice(1)
  const quirks = quirksOf(own)
  const always = quirks?.options?.split(',') ?? []
  for (const part of [...always, ...own]) {
    const [key = '', value] = splitOnce(part.trim())
    if (isFlag(key)) flags[key] = readFlag(key, value)
    else if (isInteger(key)) integers[key] = readInteger(key, value)
    else if (isWord(key)) words[key] = readWord(key, value)
    else if (key === 'text' && value !== undefined) text = value
    else throw new Error(`the mock provider knows no option ${JSON.stringify(part)}`)
  }
  return {
    name: modelName,
    integers,
    words,
    ...flags,
    text,
    quirks,
    chunks: integers.chunks ?? DEFAULT_CHUNKS,
    batch: Math.max(1, integers.batch ?? 1),
    delayMs: integers.delay ?? 0,
    ttftMs: integers.ttft ?? 0,
    slowHeadersMs: integers.slow_headers ?? 0,
  }
}

function quirksOf(options: readonly string[]): Quirks | undefined {
  const name = options.map(splitOnce).find(([key]) => key === 'as')?.[1]
  return name === undefined ? undefined : QUIRKS[name]
}

function splitOnce(part: string): [string, string | undefined] {
  const equals = part.indexOf('=')
  return equals < 0 ? [part, undefined] : [part.slice(0, equals), part.slice(equals + 1)]
}

function isFlag(key: string): key is FlagOption {
  return (FLAG_OPTIONS as readonly string[]).includes(key)
}

function isInteger(key: string): key is IntegerOption {
  return (INTEGER_OPTIONS as readonly string[]).includes(key)
}

function isWord(key: string): key is WordOption {
  return Object.hasOwn(WORD_OPTIONS, key)
}

function readFlag(key: string, value: string | undefined): boolean {
  if (value === undefined || value === '1') return true
  if (value === '0') return false
  throw new Error(`the mock provider's option ${key} is 0 or 1, not ${value}`)
}

function readInteger(key: string, value: string | undefined): number {
  if (value === undefined || !/^\d{1,15}$/.test(value)) {
    throw new Error(`the mock provider's option ${key} is a whole number, not ${value}`)
  }
  return Number(value)
}

function readWord(key: WordOption, value: string | undefined): string {
  const words: readonly string[] = WORD_OPTIONS[key]
  if (value === undefined || !words.includes(value)) {
    throw new Error(`the mock provider's option ${key} is one of ${words.join(', ')}, not ${value}`)
  }
  return value
}
