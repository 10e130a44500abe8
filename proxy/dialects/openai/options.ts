import { jsonBytes } from '../../../contract/api/completion.ts'
import { invalidRequest } from '../../../contract/errors/errors.ts'
import { isJsonObject, type JsonObject } from '../../../contract/std/jsonObject.ts'
import type { PromptSize } from '../../admission/holdSize.ts'
import { isGiven, readBoolean, readName, readWord } from '../../json/fields.ts'
import type { DialectLimits } from '../limits.ts'
import { countAnyJson } from '../shared/anyJson.ts'

const LOGIT_BIAS_MAX = 100
const TOKEN_ID = /^[0-9]{1,10}$/

/** Checks an option that is forwarded, and adds the text to the size that a provider might add to the prompt. */
type OptionCheck = (body: JsonObject, name: string, size: PromptSize, limits: DialectLimits) => void

/** Options shared by chat completions and text completions. */
const SAMPLING: readonly (readonly [name: string, check: OptionCheck])[] = [
  ['temperature', checkNumber],
  ['top_p', checkNumber],
  ['top_k', checkNumber],
  ['min_p', checkNumber],
  ['seed', checkNumber],
  ['frequency_penalty', checkNumber],
  ['presence_penalty', checkNumber],
  ['repetition_penalty', checkNumber],
  ['logit_bias', checkLogitBias],
  ['stop', checkStop],
  ['user', checkName],
]

/**
 * The options that are forwarded. Everything else is left out, because a provider may bill for it: price tiers, fan-out,
 * hosted tools, stored state, other modalities.
 */
export const CHAT_OPTIONS: ReadonlyMap<string, OptionCheck> = new Map<string, OptionCheck>([
  ...SAMPLING,
  ['logprobs', checkBoolean],
  ['top_logprobs', checkNumber],
  ['response_format', checkFormat],
  ['reasoning_effort', checkWord],
  ['verbosity', checkWord],
  ['prompt_cache_key', checkName],
  ['safety_identifier', checkName],
])
export const TEXT_OPTIONS: ReadonlyMap<string, OptionCheck> = new Map([...SAMPLING, ['logprobs', checkNumber]])

/**
 * Takes over the options of a body; one that is null or an empty list counts as absent.
 * @throws GatewayError 400 with the option at fault
 */
export function addOptions(
  body: JsonObject,
  forward: JsonObject,
  options: ReadonlyMap<string, OptionCheck>,
  size: PromptSize,
  limits: DialectLimits,
): void {
  for (const name in body) {
    const check = options.get(name)
    if (check === undefined || !isGiven(body[name]) || isEmptyList(body[name])) continue
    check(body, name, size, limits)
    forward[name] = body[name]
  }
}

/** OpenAI refuses an empty list of stop sequences, and clients in PHP write empty objects so. */
function isEmptyList(value: unknown): boolean {
  return Array.isArray(value) && value.length === 0
}

/** Adds the text of a short option to a size, because a provider might add it to the prompt. */
export function countOption(text: unknown, size: PromptSize): void {
  if (typeof text === 'string') size.optionBytes = (size.optionBytes ?? 0) + Buffer.byteLength(text)
}

/**
 * Sequences that end an answer.
 * @param countMax how many a request may have
 * @throws GatewayError 400
 */
export function checkStops(
  stops: readonly unknown[],
  param: string,
  countMax: number,
  size: PromptSize,
  limits: DialectLimits,
): void {
  const max = limits.nameCharactersMax
  if (stops.length > countMax) throw invalidRequest(`${param} may hold at most ${countMax} strings.`, param)
  for (const stop of stops) {
    if (typeof stop !== 'string' || stop.length > max) {
      throw invalidRequest(`${param} must hold strings of at most ${max} characters.`, param)
    }
    countOption(stop, size)
  }
}

function checkStop(body: JsonObject, name: string, size: PromptSize, limits: DialectLimits): void {
  const stop = body[name]
  if (typeof stop !== 'string' && !Array.isArray(stop)) {
    throw invalidRequest(`${name} must be a string or an array of strings.`, name)
  }
  checkStops(Array.isArray(stop) ? stop : [stop], name, limits.stopSequencesMax, size, limits)
}

function checkNumber(body: JsonObject, name: string): void {
  if (!Number.isFinite(body[name])) throw invalidRequest(`${name} must be a number.`, name)
}

function checkBoolean(body: JsonObject, name: string): void {
  readBoolean(body, name)
}

function checkName(body: JsonObject, name: string, size: PromptSize, limits: DialectLimits): void {
  countOption(readName(body, name, limits), size)
}

function checkWord(body: JsonObject, name: string, size: PromptSize): void {
  countOption(readWord(body[name], name), size)
}

function checkFormat(body: JsonObject, name: string, size: PromptSize): void {
  const format = body[name]
  if (!isJsonObject(format) || !['string', 'undefined'].includes(typeof format['type'])) {
    throw invalidRequest(`${name} must be an object such as {type: "json_object"}.`, name)
  }
  size.textBytes += jsonBytes(format)
  countAnyJson(format, size)
}

function checkLogitBias(body: JsonObject, name: string, _size: PromptSize, limits: DialectLimits): void {
  const bias = body[name]
  if (!isJsonObject(bias)) throw invalidRequest(`${name} must be an object of token ids and numbers.`, name)
  const max = limits.logitBiasEntriesMax
  let entries = 0
  for (const token in bias) {
    const value = bias[token]
    if (++entries > max) throw invalidRequest(`${name} may hold at most ${max} entries.`, name)
    if (!TOKEN_ID.test(token) || typeof value !== 'number' || !(Math.abs(value) <= LOGIT_BIAS_MAX)) {
      throw invalidRequest(
        `${name} must hold token ids with numbers from -${LOGIT_BIAS_MAX} to ${LOGIT_BIAS_MAX}.`,
        name,
      )
    }
  }
}
