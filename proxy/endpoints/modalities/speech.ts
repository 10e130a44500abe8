import { GatewayError, invalidRequest } from '../../../contract/errors/errors.ts'
import { readJsonBody } from '../../../contract/std/jsonBody.ts'
import { isJsonObject, type JsonObject } from '../../../contract/std/jsonObject.ts'
import type { Route } from '../../catalog/pricedItem.ts'
import { readPreferences } from '../../dialects/shared/preferences.ts'
import { isGiven, readChoice, readModel, readRequiredText } from '../../json/fields.ts'
import type { Bill } from '../run/bill.ts'
import { type Beside, readBeside, readNames } from './beside.ts'
import { type BodyRest, bodyOf, restOf } from './bodyRest.ts'
import { ByteRun } from './byteRun.ts'
import { countedBill, countedRates } from './counted.ts'
import type { ModalityLimits } from './limits.ts'
import type { BytePlan, EventPlan, Operation, PlanContext, UnitProviderRequest, UnitRequest } from './operation.ts'

const READ = readNames('input', 'voice', 'response_format', 'stream_format', 'instructions', 'speed')
/** Providers require a voice, which clients of the OpenAI format may omit. */
const USUAL_VOICE = 'alloy'
const SPEED_MIN = 0.25
const SPEED_MAX = 4
const CONTENT_TYPES = {
  mp3: 'audio/mpeg',
  opus: 'audio/ogg',
  aac: 'audio/aac',
  flac: 'audio/flac',
  wav: 'audio/wav',
  pcm: 'audio/pcm',
} as const
type SpeechFormat = keyof typeof CONTENT_TYPES

interface SpeechRequest extends UnitRequest {
  /** Of everything that the model reads. */
  readonly characters: number
  readonly format: SpeechFormat
  /** It is answered with events. */
  readonly events: boolean
  readonly rest: BodyRest
}

/** POST /v1/audio/speech. */
export const speech: Operation<SpeechRequest, BytePlan> = {
  endpoint: 'speech',
  upload: false,
  streamed: true,
  Run: ByteRun,
  read: (bytes, _head, limits) => readSpeech(bytes, limits),
  plan: (request, context) => new SpeechPlan(request, context),
  events: {
    asks: ({ events }) => events,
    kind: 'speech',
    param: 'stream_format',
    plan: (request, context) => new SpeechEventPlan(request, context),
  },
}

/** @throws GatewayError 400 with the field at fault */
export function readSpeech(bytes: Buffer, limits: ModalityLimits): SpeechRequest {
  const body = readJsonBody(bytes, limits.jsonDepthMax)
  const { modelId, batchParam, cheapest } = readModel(body)
  const input = readRequiredText(body, 'input')
  const format = readChoice(body, 'response_format', Object.keys(CONTENT_TYPES) as SpeechFormat[]) ?? 'mp3'
  const events = readChoice(body, 'stream_format', ['audio', 'sse']) === 'sse'
  const forward: JsonObject = { input, voice: readVoice(body['voice']), response_format: format }
  if (events) forward['stream_format'] = 'sse'
  let characters = codePoints(input)
  if (isGiven(body['instructions'])) {
    const instructions = readRequiredText(body, 'instructions')
    characters += codePoints(instructions)
    forward['instructions'] = instructions
  }
  const { speed } = body
  if (isGiven(speed)) {
    if (typeof speed !== 'number' || !(speed >= SPEED_MIN && speed <= SPEED_MAX)) {
      throw invalidRequest(`speed must be a number from ${SPEED_MIN} to ${SPEED_MAX}.`, 'speed')
    }
    forward['speed'] = speed
  }
  const preferences = readPreferences(body['provider'])
  const beside = readBeside(body, READ, limits)
  return { modelId, batchParam, cheapest, characters, format, events, rest: restOf(forward), preferences, beside }
}

function readVoice(voice: unknown): unknown {
  if (!isGiven(voice)) return USUAL_VOICE
  if (typeof voice === 'string' && voice !== '') return voice
  if (isJsonObject(voice) && typeof voice['id'] === 'string') return { id: voice['id'] }
  throw invalidRequest('voice must be the name of a voice, or {id}.', 'voice')
}

/** Unicode code points, as providers count characters; UTF-16 units would count many of them twice. */
export function codePoints(text: string): number {
  let count = 0
  for (let at = 0; at < text.length; count++) at += (text.codePointAt(at) ?? 0) > 0xffff ? 2 : 1
  return count
}

class SpeechPlan implements BytePlan {
  readonly bill: Bill
  readonly contentType: string
  readonly samples: boolean
  readonly beside: Beside
  readonly answerBytesMax: number
  private readonly rest: BodyRest

  constructor(request: SpeechRequest, { model, principal, limits }: PlanContext) {
    const charactersMax = model.context > 0 ? model.context : limits.speechCharactersMax
    if (request.characters > charactersMax) {
      const message = `The input has ${request.characters} characters, but ${model.id} takes at most ${charactersMax}.`
      throw new GatewayError('input_too_long', { message, param: 'input' })
    }
    this.bill = countedBill(countedRates(model, principal), request.characters, 'reported')
    this.contentType = CONTENT_TYPES[request.format]
    this.samples = request.format === 'pcm'
    this.answerBytesMax = limits.streamBytesMax
    this.rest = request.rest
    this.beside = request.beside
  }

  get holdUnits(): number {
    return this.bill.units
  }

  ask(route: Route): UnitProviderRequest {
    const body = bodyOf(route, this.rest, this.beside)
    return { path: '/audio/speech', contentType: 'application/json', accept: '*/*', body }
  }
}

/** The same as events, at the same price: whoever gets the sound, the text is what is paid. */
class SpeechEventPlan extends SpeechPlan implements EventPlan {
  readonly pieces = { type: 'speech.audio.delta', member: 'audio' }
  readonly ends = { type: 'speech.audio.done', member: '' }
  readonly endsMax = 1
  readonly eventBytesMax: number

  constructor(request: SpeechRequest, context: PlanContext) {
    super(request, context)
    this.eventBytesMax = context.limits.eventBytesMax
  }

  get billUnseen(): Bill {
    return this.bill
  }

  billOf(): Bill {
    return this.bill
  }

  override ask(route: Route): UnitProviderRequest {
    return { ...super.ask(route), accept: 'text/event-stream' }
  }
}
