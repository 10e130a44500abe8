import { isUtf8 } from 'node:buffer'
import { GatewayError, invalidRequest } from '../../contract/errors/errors.ts'
import { isForm, notUtf8, tooDeep } from '../../contract/std/jsonBody.ts'
import type { Span } from '../../contract/std/span.ts'
import type { Limits } from '../limits.ts'
import { type JsonBounds, JsonFault } from './jsonFault.ts'
import { isObject, type JsonObject } from './jsonObject.ts'
import { jsonSteps } from './jsonSteps.ts'
import { StepQueue } from './stepQueue.ts'

const FORM_START_BYTES = 256
const RETRY_SECONDS = 1
/** No smaller body is parsed in steps, so that the others need not be looked up. */
const STEP_BYTES_LEAST = 16_384

/** Whose body it is: that of a sender whose credential is proven, or anybody's. */
export type BodyOwner = 'customer' | 'stranger'

/** A body that was parsed in steps before its handler asked for it. */
export interface ParsedBody {
  readonly value: JsonObject
  /** The insides of long strings that are values, in their order. */
  readonly longStrings: readonly Span[]
}

interface Lane {
  readonly index: number
  readonly bounds: JsonBounds
  readonly atOnceBytesMax: number
}

const parsed = new WeakMap<Buffer, ParsedBody>()

/** What `BodyParser` has made of a body, given out once; undefined for a body that it has not parsed. */
export function takeParsed(body: Buffer): ParsedBody | undefined {
  if (body.length <= STEP_BYTES_LEAST) return undefined
  const found = parsed.get(body)
  // The body may be kept for other providers to be asked, for which what was made of it is not needed.
  parsed.delete(body)
  return found
}

/**
 * Parses large bodies in steps, so that none of them holds up the event loop. Strangers' bodies wait in a lane of their
 * own, and are bounded more closely.
 */
export class BodyParser {
  private readonly queue = new StepQueue(2)
  private readonly waitingMax: number
  private readonly lanes: Readonly<Record<BodyOwner, Lane>>

  constructor(limits: Limits) {
    const { jsonDepthMax: depthMax } = limits
    this.waitingMax = limits.jsonStepsWaitingMax
    this.lanes = {
      customer: {
        index: 0,
        bounds: { depthMax, membersMax: limits.jsonMembersMax, elementsMax: limits.jsonElementsMax },
        atOnceBytesMax: Math.max(STEP_BYTES_LEAST, limits.jsonAtOnceBytesMax),
      },
      stranger: {
        index: 1,
        bounds: { depthMax, membersMax: limits.strangerJsonMembersMax, elementsMax: limits.strangerJsonElementsMax },
        atOnceBytesMax: Math.max(STEP_BYTES_LEAST, limits.strangerJsonAtOnceBytesMax),
      },
    }
  }

  /**
   * Parses a body that is too large to be parsed at once.
   * @returns undefined for a smaller one; else a promise, after which `takeParsed` has the body. It rejects with
   *   GatewayError 400 as `parseJsonObject` and for too many members or elements, 429 when too many bodies wait
   */
  prepare(body: Buffer, owner: BodyOwner): Promise<void> | undefined {
    const lane = this.lanes[owner]
    return body.length > lane.atOnceBytesMax ? this.parse(body, lane) : undefined
  }

  private async parse(body: Buffer, { index, bounds }: Lane): Promise<void> {
    if (this.queue.waiting(index) >= this.waitingMax) {
      throw new GatewayError('too_many_uploads', { retryAfterSeconds: RETRY_SECONDS })
    }
    // Anything else would reach the model with its characters replaced.
    if (!isUtf8(body)) throw notUtf8()
    const longStrings: Span[] = []
    let value: unknown
    try {
      value = await this.queue.run(index, jsonSteps(body, bounds, longStrings))
    } catch (error) {
      throw error instanceof JsonFault ? refusalOf(error, body, bounds) : error
    }
    if (!isObject(value)) throw invalidRequest('The body must be a JSON object.')
    parsed.set(body, { value, longStrings })
  }
}

function refusalOf({ kind, position }: JsonFault, body: Buffer, bounds: JsonBounds): GatewayError {
  switch (kind) {
    case 'deep':
      return tooDeep(bounds.depthMax)
    case 'members':
      return invalidRequest(`The body has more than ${bounds.membersMax} members of objects; send fewer.`)
    case 'elements':
      return invalidRequest(`The body has more than ${bounds.elementsMax} elements of arrays; send fewer.`)
    case 'name':
      return invalidRequest(`The name of a member is too long at position ${position}; shorten it.`)
  }
  if (isForm(body.toString('latin1', 0, FORM_START_BYTES))) return new GatewayError('unsupported_media_type')
  if (kind === 'incomplete') return new GatewayError('body_incomplete')
  return invalidRequest(`The body is not valid JSON: unexpected character at position ${position}.`)
}
