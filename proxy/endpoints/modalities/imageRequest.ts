import { GatewayError, invalidRequest } from '../../../contract/errors/errors.ts'
import type { UnitRates } from '../../../contract/money/unitRates.ts'
import type { JsonObject } from '../../../contract/std/jsonObject.ts'
import { readPreferences } from '../../dialects/shared/preferences.ts'
import {
  isGiven,
  readBoolean,
  readChoice,
  readModel,
  readName,
  readPositiveInteger,
  readRequiredText,
} from '../../json/fields.ts'
import { readTagging } from '../../json/tagging.ts'
import { readBeside, readNames } from './beside.ts'
import type { ModalityLimits } from './limits.ts'
import type { UnitRequest } from './operation.ts'

const SIZE = /^([1-9][0-9]{0,4})x([1-9][0-9]{0,4})$/
/** The members that are read. */
export const IMAGE_MEMBERS = readNames(
  'prompt',
  'n',
  'size',
  'response_format',
  'user',
  'metadata',
  'stream',
  'partial_images',
)
const USUAL_SIZE = '1024x1024'
/** Providers send no more of an image on the way. */
const PARTIAL_IMAGES_MAX = 3

/** The common members of generations and edits. */
export interface ImageRequest extends UnitRequest {
  readonly prompt: string
  readonly n: number
  /** As sent; null when it is left to the gateway. */
  readonly size: string | null
  /** It is answered with events: this many images on the way, then the image. null for an answer in one piece. */
  readonly partialImages: number | null
  /** Members that are forwarded to the provider unchanged. Quality, style and the like have their own prices: dropped. */
  readonly forward: readonly (readonly [name: string, text: string])[]
}

/** @throws GatewayError 400 with the field at fault */
export function readImageRequest(body: JsonObject, limits: ModalityLimits): ImageRequest {
  const { modelId, batchParam, cheapest } = readModel(body)
  const n = readPositiveInteger(body, 'n') ?? 1
  if (n > limits.imagesPerAnswerMax) throw invalidRequest(`n may be at most ${limits.imagesPerAnswerMax}.`, 'n')
  const partialImages = readBoolean(body, 'stream') ? readPartialImages(body) : null
  const forward: [string, string][] = []
  const format = readChoice(body, 'response_format', ['b64_json', 'url'])
  if (partialImages !== null && format === 'url') {
    throw invalidRequest('response_format of a stream is b64_json.', 'response_format')
  }
  if (format !== null && partialImages === null) forward.push(['response_format', format])
  const user = readName(body, 'user', limits)
  if (user !== null) forward.push(['user', user])
  const prompt = readRequiredText(body, 'prompt')
  const { promptCharactersMax } = limits
  if (prompt.length > promptCharactersMax) {
    throw invalidRequest(`prompt may have at most ${promptCharactersMax} characters.`, 'prompt')
  }
  const size = body['size'] ?? null
  if (size !== null && typeof size !== 'string') throw invalidSize('size must be a text such as 1024x1024.')
  if (size !== null && size.length > limits.nameCharactersMax) throw invalidSize('size is no WIDTHxHEIGHT.')
  return {
    modelId,
    batchParam,
    cheapest,
    prompt,
    n,
    size,
    partialImages,
    forward,
    preferences: readPreferences(body['provider']),
    beside: readBeside(body, IMAGE_MEMBERS, limits),
    ...readTagging(body, limits),
  }
}

/** @throws GatewayError 400 */
function readPartialImages(body: JsonObject): number {
  const { partial_images: images } = body
  if (!isGiven(images)) return 0
  if (typeof images === 'number' && Number.isInteger(images) && images >= 0 && images <= PARTIAL_IMAGES_MAX)
    return images
  throw invalidRequest(`partial_images must be an integer from 0 to ${PARTIAL_IMAGES_MAX}.`, 'partial_images')
}

/**
 * The size to ask for. When sizes have their own prices, one of them has to be chosen, so that the price matches the
 * image.
 * @returns WxH, or '' to leave it to the provider
 * @throws GatewayError invalid_size
 */
export function chooseSize(size: string | null, rates: UnitRates, limits: ModalityLimits): string {
  const priced = [...rates.sizes.keys()]
  if (size === null) {
    if (priced.length === 0) return ''
    if (rates.sizes.has(USUAL_SIZE)) return USUAL_SIZE
    return priced.reduce((smallest, other) => (area(other) < area(smallest) ? other : smallest))
  }
  if (priced.length > 0) {
    if (!rates.sizes.has(size)) throw invalidSize(`The model makes images of ${priced.join(', ')}.`)
    return size
  }
  const { imageSideMin, imageSideMax } = limits
  const sides = SIZE.exec(size)?.slice(1).map(Number)
  if (sides === undefined || sides.some((side) => side < imageSideMin || side > imageSideMax)) {
    throw invalidSize(`Give size as WIDTHxHEIGHT with sides from ${imageSideMin} to ${imageSideMax}.`)
  }
  return size
}

function area(size: string): number {
  const [width = 0, height = 0] = size.split('x').map(Number)
  return width * height
}

function invalidSize(message: string): GatewayError {
  return new GatewayError('invalid_size', { message, param: 'size' })
}
