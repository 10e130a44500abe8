import { GatewayError, invalidRequest } from '../../contract/errors/errors.ts'
import type { JsonObject } from '../../contract/std/jsonObject.ts'
import type { JsonLimits } from './limits.ts'

/** No word that a provider documents is longer than eight letters. */
const WORD_CHARACTERS_MAX = 32
const WORD = /^[\w.-]*$/

/** Whether a member of a body counts: one that is null counts as absent. */
export function isGiven(value: unknown): boolean {
  return value !== undefined && value !== null
}

/**
 * Integers beyond 2^53 are taken as well, rounded: they are above every limit, and the error is about that limit.
 * @returns null when absent. @throws GatewayError 400
 */
export function readPositiveInteger(body: JsonObject, name: string): number | null {
  const value = body[name]
  if (!isGiven(value)) return null
  if (typeof value !== 'number' || !Number.isInteger(value) || value < 1) {
    throw invalidRequest(`${name} must be a positive integer.`, name)
  }
  return value
}

/** @returns false when absent. @throws GatewayError 400 */
export function readBoolean(body: JsonObject, name: string, param: string = name): boolean {
  const value = body[name]
  if (!isGiven(value)) return false
  if (typeof value !== 'boolean') throw invalidRequest(`${param} must be true or false.`, param)
  return value
}

/** A required text. @throws GatewayError 400 */
export function readRequiredText(body: JsonObject, name: string): string {
  const value = body[name]
  if (typeof value !== 'string' || value === '') throw invalidRequest(`${name} must be a text, not empty.`, name)
  return value
}

/** One of a fixed list of words. @returns null when absent. @throws GatewayError 400 */
export function readChoice<Word extends string>(body: JsonObject, name: string, words: readonly Word[]): Word | null {
  const value = body[name]
  if (!isGiven(value)) return null
  const found = words.find((word) => word === value)
  if (found === undefined) throw invalidRequest(`${name} must be one of: ${words.join(', ')}.`, name)
  return found
}

/** The requested model, without the suffixes of its id. */
export interface ModelChoice {
  /** Public model id. */
  readonly modelId: string
  /** The member that asks for a batch job; null for none. */
  readonly batchParam: 'model' | 'batch' | null
  readonly cheapest: boolean
}

/** The requested models. */
export interface ModelsChoice extends ModelChoice {
  /** The ids of the models that may serve in place of the first, in the order of the request; absent where it names none. */
  readonly models?: readonly string[]
}

/**
 * Reads the members `model`, `batch` and `models`. The first of `models` stands for `model` where that is absent.
 * @throws GatewayError 400
 */
export function readModels(body: JsonObject, limits: Pick<JsonLimits, 'fallbackModelsMax'>): ModelsChoice {
  const { models } = body
  if (!isGiven(models)) return readModel(body)
  const max = limits.fallbackModelsMax
  if (!Array.isArray(models) || !models.every((id) => typeof id === 'string' && id !== '')) {
    throw invalidRequest('models must be an array of model ids from GET /v1/models.', 'models')
  }
  const ids: readonly string[] = models
  const first = body['model'] ?? ids[0]
  const choice = modelChoice(first, body)
  const rest = [...new Set(ids)].filter((id) => id !== first && id !== choice.modelId)
  if (rest.length > max) throw invalidRequest(`models may name at most ${max} models besides the first.`, 'models')
  return { ...choice, models: rest }
}

/** Reads the members `model` and `batch`. @throws GatewayError 400 */
export function readModel(body: JsonObject): ModelChoice {
  return modelChoice(body['model'], body)
}

function modelChoice(model: unknown, body: JsonObject): ModelChoice {
  if (typeof model !== 'string' || model === '') {
    throw invalidRequest('model must be a model id from GET /v1/models.', 'model')
  }
  let modelId = model
  let batchParam: ModelChoice['batchParam'] = readBoolean(body, 'batch') ? 'batch' : null
  let cheapest = false
  for (;;) {
    if (modelId.endsWith(':batch')) batchParam = 'model'
    else if (modelId.endsWith(':cheapest')) cheapest = true
    else return { modelId, batchParam, cheapest }
    modelId = modelId.slice(0, modelId.lastIndexOf(':'))
  }
}

/**
 * Refuses a batch job on endpoints without batches; running the request immediately would cost the standard price.
 * @throws GatewayError batch_unavailable
 */
export function refuseBatch({ batchParam }: Pick<ModelChoice, 'batchParam'>): void {
  if (batchParam === null) return
  const wish = batchParam === 'model' ? ':batch' : 'batch'
  const message = `Batch jobs are submitted at /v1/chat/completions; leave ${wish} out here.`
  throw new GatewayError('batch_unavailable', { message, param: batchParam })
}

/** Reads a short text, such as a name. @returns null when absent. @throws GatewayError 400 */
export function readName(body: JsonObject, name: string, limits: JsonLimits, param: string = name): string | null {
  const value = body[name]
  const max = limits.nameCharactersMax
  if (!isGiven(value)) return null
  if (typeof value !== 'string' || value.length > max) {
    throw invalidRequest(`${param} must be a string of at most ${max} characters.`, param)
  }
  return value
}

/** One of a list of words that is the provider's to know. @returns null when absent. @throws GatewayError 400 */
export function readWord(value: unknown, param: string): string | null {
  if (!isGiven(value)) return null
  if (typeof value !== 'string' || value.length > WORD_CHARACTERS_MAX || !WORD.test(value)) {
    throw invalidRequest(`${param} must be a word of at most ${WORD_CHARACTERS_MAX} characters.`, param)
  }
  return value
}

/** @returns null when absent. @throws GatewayError 400 */
export function readNumber(body: JsonObject, name: string, min: number, max: number): number | null {
  const value = body[name]
  if (!isGiven(value)) return null
  if (typeof value !== 'number' || !(value >= min && value <= max)) {
    throw invalidRequest(`${name} must be a number from ${min} to ${max}.`, name)
  }
  return value
}
