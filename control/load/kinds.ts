import { isJsonObject } from '../../contract/std/jsonObject.ts'
import type { LoadLimits } from './limits.ts'

/** A kind of requests of a load test. */
export interface RequestKind {
  readonly model: string
  /** About how large the prompt is: that many short words. */
  readonly promptTokens: number
  /** `max_tokens` of the request; undefined leaves it to the gateway. */
  readonly maxTokens: number | undefined
  readonly isStreamed: boolean
  /** Its share among all kinds. */
  readonly weight: number
}

const MEMBERS: ReadonlySet<string> = new Set(['model', 'prompt_tokens', 'max_tokens', 'stream', 'weight'])

/** The JSON body of a request of this kind. */
export function bodyOf({ model, promptTokens, maxTokens, isStreamed }: RequestKind): string {
  return JSON.stringify({
    model,
    messages: [{ role: 'user', content: 'load '.repeat(promptTokens).trimEnd() }],
    ...(maxTokens !== undefined && { max_tokens: maxTokens }),
    ...(isStreamed && { stream: true, stream_options: { include_usage: true } }),
  })
}

/**
 * Reads a file of kinds: `{"kinds": [{"model", "prompt_tokens", "max_tokens", "stream", "weight"}]}`.
 * @param base stands for the members that an entry leaves out
 * @throws Error that names the place of the fault
 */
export function readMix(text: string, base: RequestKind, limits: LoadLimits): RequestKind[] {
  const parsed = parse(text)
  const kinds = isJsonObject(parsed) ? parsed['kinds'] : undefined
  if (!Array.isArray(kinds) || kinds.length === 0) throw new Error('it must be {"kinds": [{"model": ...}, ...]}')
  if (kinds.length > limits.loadKindsMax) throw new Error(`it has more than ${limits.loadKindsMax} kinds`)
  return kinds.map((kind, i) => readKind(kind, `kinds[${i}]`, base, limits))
}

function readKind(value: unknown, place: string, base: RequestKind, limits: LoadLimits): RequestKind {
  if (!isJsonObject(value)) throw new Error(`${place} must be an object`)
  const unknown = Object.keys(value).find((name) => !MEMBERS.has(name))
  if (unknown !== undefined) throw new Error(`${place}.${unknown} is not known; there are: ${[...MEMBERS].join(', ')}`)
  const { model = base.model, stream = base.isStreamed } = value
  if (typeof model !== 'string' || model === '') throw new Error(`${place}.model must be the name of a model`)
  if (typeof stream !== 'boolean') throw new Error(`${place}.stream must be true or false`)
  const count = (name: string, most: number): number | undefined => {
    const given = value[name]
    if (given === undefined) return undefined
    if (Number.isInteger(given) && Number(given) >= 1 && Number(given) <= most) return Number(given)
    throw new Error(`${place}.${name} must be an integer from 1 to ${most}`)
  }
  return {
    model,
    isStreamed: stream,
    promptTokens: count('prompt_tokens', limits.loadPromptTokensMax) ?? base.promptTokens,
    maxTokens: count('max_tokens', limits.loadPromptTokensMax) ?? base.maxTokens,
    weight: count('weight', limits.loadWeightMax) ?? base.weight,
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw new Error('it is not JSON')
  }
}
