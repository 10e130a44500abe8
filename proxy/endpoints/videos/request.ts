import { GatewayError, invalidRequest } from '../../../contract/errors/errors.ts'
import type { JsonObject } from '../../../contract/std/jsonObject.ts'
import type { sluice } from '../../../contract/wire/generated/messages.js'
import { type Preferences, readPreferences, refuseMaxPrice } from '../../dialects/shared/preferences.ts'
import { unknownNames } from '../../dialects/shared/requestForm.ts'
import { isGiven, readModel, refuseBatch } from '../../json/fields.ts'
import type { VideoLimits } from './limits.ts'

const KNOWN: ReadonlySet<string> = new Set([
  'model',
  'batch',
  'provider',
  'prompt',
  'seconds',
  'image',
  'aspect_ratio',
  'negative_prompt',
  'resolution',
])

/** A first frame that was checked: the data URL as JSON in UTF-8, or why it is refused. */
export type CheckedFrame = { readonly json: Uint8Array } | { readonly refusal: sluice.Refusal.$Properties }

/** A request for a clip that is valid by itself; the checks that depend on the model follow later. */
export interface VideoRequest {
  /** Public model id, suffixes taken off. */
  readonly modelId: string
  readonly cheapest: boolean
  readonly preferences: Preferences
  readonly prompt: string
  /** As sent; undefined when absent. */
  readonly seconds: unknown
  readonly image: unknown
  /** The image as another thread has checked it; absent where it is to be checked here. */
  readonly frame?: CheckedFrame
  readonly aspectRatio: unknown
  readonly negativePrompt: string | null
  readonly resolution: unknown
  /** Names of members that no provider gets. */
  readonly unknown: readonly string[]
}

/**
 * Validates the body of POST /v1/videos/generations. A member that is null counts as absent; members that are not known
 * are left out.
 * @throws GatewayError 400 with the field at fault
 */
export function readVideoRequest(body: JsonObject, limits: VideoLimits): VideoRequest {
  const model = readModel(body)
  refuseBatch(model)
  const prompt = readText(body, 'prompt', 'prompt_too_long', limits)
  if (prompt === null || prompt === '') throw invalidRequest('prompt must say what the clip shows.', 'prompt')
  if (isGiven(body['size'])) throw new GatewayError('size_unsupported', { param: 'size' })
  const preferences = readPreferences(body['provider'])
  refuseMaxPrice(preferences)
  return {
    modelId: model.modelId,
    cheapest: model.cheapest,
    preferences,
    prompt,
    seconds: body['seconds'] ?? undefined,
    image: body['image'] ?? undefined,
    aspectRatio: body['aspect_ratio'] ?? undefined,
    negativePrompt: readText(body, 'negative_prompt', 'negative_prompt_too_long', limits),
    resolution: body['resolution'] ?? undefined,
    unknown: unknownNames(body, KNOWN, limits.droppedNamesMax),
  }
}

function readText(
  body: JsonObject,
  name: string,
  tooLong: 'prompt_too_long' | 'negative_prompt_too_long',
  { promptCharactersMax }: VideoLimits,
): string | null {
  const value = body[name]
  if (!isGiven(value)) return null
  if (typeof value !== 'string') throw invalidRequest(`${name} must be a text.`, name)
  if (value.length > promptCharactersMax) throw new GatewayError(tooLong, { param: name })
  return value
}
