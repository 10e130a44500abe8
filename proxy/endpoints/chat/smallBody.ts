import { GatewayError } from '../../../contract/errors/errors.ts'
import { parseJsonBody, readJsonBody } from '../../../contract/std/jsonBody.ts'
import { LONG_STRING_BYTES, longStringsIn } from '../../../contract/std/jsonDepth.ts'
import type { Span } from '../../../contract/std/span.ts'
import type { DialectLimits } from '../../dialects/limits.ts'
import type { ChatRequest } from '../../dialects/shared/chatRequest.ts'
import type { ChatSurface, CutRequest } from '../../dialects/shared/codec.ts'
import { cutRequest } from '../../dialects/shared/cutRequest.ts'
import { readChat } from '../../dialects/shared/readChat.ts'
import { base64Span } from '../../json/base64Span.ts'
import { CutJson, hasMark } from '../../json/cutJson.ts'
import type { JsonLimits } from '../../json/limits.ts'
import type { LargeBodyLimits } from '../largeBodies/limits.ts'

/** A chat request that was read on the event loop. */
export interface SmallBody {
  readonly request: ChatRequest
  /** For a provider of the client's own format; null where no string is cut out. */
  readonly cut: CutRequest | null
  /** Puts back the data that the request was read without; null where it was read whole. */
  readonly data: CutRequest | null
}

export interface SmallBounds {
  readonly limits: DialectLimits & JsonLimits & LargeBodyLimits
  /** Bytes that may be read on the event loop. */
  readonly atOnceBytesMax: number
  /** Bytes of a whole body, with the data that is not read. */
  readonly withDataBytesMax: number
}

/**
 * Reads a chat request on the event loop. Images and documents are checked to be base64, and left where they are: their bytes
 * are forwarded as they came.
 * @returns undefined for a body of which too much would have to be read
 * @throws GatewayError 400 with the field at fault
 */
export function readSmallBody(body: Buffer, surface: ChatSurface, bounds: SmallBounds): SmallBody | undefined {
  const { limits, atOnceBytesMax, withDataBytesMax } = bounds
  const isSmall = body.length <= atOnceBytesMax
  if (!isSmall && body.length > withDataBytesMax) return undefined
  const strings = body.length < LONG_STRING_BYTES ? null : longStringsIn(body, limits.jsonDepthMax, atOnceBytesMax)
  // Without them, or with a fault in it, it is read as a whole.
  if (strings === null)
    return isSmall ? whole(readChat(surface, body, readJsonBody(body, limits.jsonDepthMax), limits)) : undefined
  const read = body.length <= withDataBytesMax ? readWithoutData(body, strings, surface, bounds) : undefined
  if (read !== undefined || !isSmall) return read
  const request = readChat(surface, body, parseJsonBody(body), limits)
  return whole(request, sendsOwnBytes(request) ? cutRequest(body, strings, surface, limits) : null)
}

/** @returns undefined for a body without such data, or with data in another place, or that is at fault */
function readWithoutData(
  body: Buffer,
  strings: readonly Span[],
  surface: ChatSurface,
  { limits, atOnceBytesMax }: SmallBounds,
): SmallBody | undefined {
  const data = strings.map((string) => base64Span(body, string)).filter((span) => span !== null)
  if (data.length === 0 || data.length > limits.cutStringsMax) return undefined
  const short = new CutJson(body, data)
  const rest = short.rest()
  if (rest.length > atOnceBytesMax) return undefined
  const request = readWhere(() => readChat(surface, rest, parseJsonBody(rest), limits))
  // Only what was read as data, and goes to providers alone, is forwarded as it is; anything else would have to be measured.
  if (request?.prompt.dataMarks?.size !== data.length || hasMark(request.echo ?? '')) return undefined
  const spans = strings.map((string) => data.find(({ end }) => end === string.end) ?? string)
  const hasTexts = data.length < strings.length
  const cut = hasTexts && sendsOwnBytes(request) ? cutRequest(body, spans, surface, limits) : null
  return { request, cut, data: { marked: () => request, fill: (json) => short.fill(json) } }
}

function readWhere(read: () => ChatRequest): ChatRequest | undefined {
  try {
    return read()
  } catch (error) {
    if (error instanceof GatewayError) return undefined
    throw error
  }
}

/**
 * The address of an image is forwarded in the form that was checked, never as its original bytes. A body whose numbers have
 * lost digits is not cut, since they are taken from the body as it came.
 */
function sendsOwnBytes({ prompt: { linkedImages = false, rewritten = false, rounded = false } }: ChatRequest): boolean {
  return !linkedImages && !rewritten && !rounded
}

function whole(request: ChatRequest, cut: CutRequest | null = null): SmallBody {
  return { request, cut, data: null }
}
