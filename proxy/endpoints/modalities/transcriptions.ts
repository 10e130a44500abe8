import { GatewayError, invalidRequest } from '../../../contract/errors/errors.ts'
import type { UnitRates } from '../../../contract/money/unitRates.ts'
import { isJsonObject } from '../../../contract/std/jsonObject.ts'
import type { Route } from '../../catalog/pricedItem.ts'
import { readPreferences } from '../../dialects/shared/preferences.ts'
import type { ScanBounds } from '../../json/answerScan.ts'
import { readBoolean, readChoice, readModel } from '../../json/fields.ts'
import type { MembersReading } from '../../json/findMembers.ts'
import { JSON_TYPE, type RequestHead } from '../../server/exchange.ts'
import { type Container, type MeasuredAudio, measureAudio } from '../../upload/audio/measure.ts'
import { readForm } from '../../upload/form.ts'
import { formBody } from '../../upload/formBody.ts'
import type { Rejected } from '../../upstream/refusal.ts'
import type { Bill } from '../run/bill.ts'
import { type Beside, besideForm, readNames } from './beside.ts'
import { BufferedRun } from './bufferedRun.ts'
import { countedBill, countedRates } from './counted.ts'
import { formObject, formProvider } from './formFields.ts'
import type { ModalityLimits } from './limits.ts'
import { type Members, memberBounds, rejected } from './members.ts'
import type {
  BufferedAnswer,
  BufferedPlan,
  Operation,
  PlanContext,
  UnitProviderRequest,
  UnitRequest,
} from './operation.ts'
import { isSubtitles, SUBTITLES, type SubtitleFormat, subtitlesOf } from './subtitles.ts'

const FORMATS = ['json', 'text', 'verbose_json', 'srt', 'vtt'] as const
const DECIMAL = /^[0-9]{1,9}(?:\.[0-9]{1,18})?$/
const TEXT_TYPE = 'text/plain; charset=utf-8'
/** Of a second of speech; answers with more are not read. */
const SEGMENTS_PER_SECOND = 2
const SEGMENTS_BASE = 100
const OWNED: ReadonlySet<string> = new Set(['text', 'usage'])
/** A report may exceed the measured length by this factor, and a minute, before the size of the file is considered. */
const PLAUSIBLE_FACTOR = 2
const PLAUSIBLE_SECONDS = 60
const READ = readNames(
  'language',
  'prompt',
  'response_format',
  'temperature',
  'stream',
  'timestamp_granularities',
  'file',
)
/** The least that a codec for voices puts into a second: 120 ms of Opus in two bytes, and a third for their length. */
const BYTES_PER_SECOND_MIN = 25
/** Of an answer with the times of all words and segments. */
const ANSWER_BYTES_PER_SECOND = 16_384
const CONTENT_TYPES: Readonly<Record<Container, string>> = {
  wav: 'audio/wav',
  flac: 'audio/flac',
  mp3: 'audio/mpeg',
  ogg: 'audio/ogg',
  mp4: 'audio/mp4',
  webm: 'audio/webm',
}

/** The output of a model for speech: its words, or their meaning in English. */
type Task = 'transcriptions' | 'translations'

interface TranscriptionRequest extends UnitRequest {
  readonly task: Task
  readonly file: Buffer
  readonly format: (typeof FORMATS)[number]
  readonly forward: readonly (readonly [name: string, text: string])[]
}

/** POST /v1/audio/transcriptions. */
export const transcriptions = operationOf('transcriptions')

/** POST /v1/audio/translations: the text is English, whatever is spoken. Each model that transcribes is asked. */
export const translations = operationOf('translations')

function operationOf(task: Task): Operation<TranscriptionRequest, BufferedPlan> {
  return {
    endpoint: 'transcriptions',
    upload: true,
    streamed: false,
    Run: BufferedRun,
    read: (bytes, head, limits) => readRequest(bytes, head, limits, task),
    plan: async (request, context) =>
      new TranscriptionPlan(request, context, await measured(request.file, context.limits)),
  }
}

function readRequest(bytes: Buffer, head: RequestHead, limits: ModalityLimits, task: Task): TranscriptionRequest {
  const form = readForm(bytes, head.contentType, limits)
  const body = formObject(form, {
    texts: ['model', 'language', 'prompt', 'response_format'],
    numbers: ['temperature'],
  })
  const { modelId, batchParam, cheapest } = readModel(body)
  const format = readChoice(body, 'response_format', FORMATS) ?? 'json'
  if (readBoolean(body, 'stream')) throw invalidRequest('Transcriptions are not streamed; leave stream out.', 'stream')
  if (task === 'translations' && body['language'] !== undefined) {
    throw invalidRequest('Translations are into English; leave language out.', 'language')
  }
  const temperature = body['temperature']
  if (typeof temperature === 'number' && !(temperature >= 0 && temperature <= 1)) {
    throw invalidRequest('temperature must be a number from 0 to 1.', 'temperature')
  }
  const forward: [string, string][] = [['response_format', providerFormat(format)]]
  for (const name of ['language', 'prompt', 'temperature']) {
    if (body[name] !== undefined) forward.push([name, String(body[name])])
  }
  for (const granularity of granularitiesOf(form.texts('timestamp_granularities'), format)) {
    forward.push(['timestamp_granularities[]', granularity])
  }
  const file = form.file('file')
  const preferences = readPreferences(formProvider(form))
  const beside = besideForm(form.names, READ, limits)
  return { task, modelId, batchParam, cheapest, file, format, forward, preferences, beside }
}

// Text and subtitles are made from JSON, because only JSON has the length of the audio.
function providerFormat(format: TranscriptionRequest['format']): string {
  if (format === 'text') return 'json'
  return isSubtitles(format) ? 'verbose_json' : format
}

function granularitiesOf(granularities: readonly string[], format: string): readonly string[] {
  const name = 'timestamp_granularities'
  if (granularities.some((granularity) => granularity !== 'word' && granularity !== 'segment')) {
    throw invalidRequest(`${name} may hold word and segment.`, name)
  }
  if (format === 'verbose_json') return granularities.slice(0, 2)
  // Packages send their default, segments, with every format.
  if (granularities.includes('word')) throw invalidRequest(`${name} needs response_format verbose_json.`, name)
  return []
}

async function measured(file: Buffer, limits: ModalityLimits): Promise<MeasuredAudio> {
  const audio = await measureAudio(file, limits)
  if (audio === null) throw new GatewayError('unsupported_audio', { param: 'file' })
  if (audio.secondsMax > limits.audioSecondsMax) throw new GatewayError('audio_too_long', { param: 'file' })
  return audio
}

class TranscriptionPlan implements BufferedPlan {
  readonly holdUnits: number
  readonly beside: Beside
  private readonly request: TranscriptionRequest
  private readonly context: PlanContext
  private readonly audio: MeasuredAudio
  private readonly rates: UnitRates

  constructor(request: TranscriptionRequest, context: PlanContext, audio: MeasuredAudio) {
    this.request = request
    this.beside = request.beside
    this.context = context
    this.audio = audio
    this.rates = countedRates(context.model, context.principal)
    this.holdUnits = countedBill(this.rates, Math.ceil(audio.secondsMax), 'reported').units
  }

  get answerBytesMax(): number {
    const { answerBytesBase, responseBodyBytesMax } = this.context.limits
    return Math.min(responseBodyBytesMax, answerBytesBase + Math.ceil(this.audio.secondsMax) * ANSWER_BYTES_PER_SECOND)
  }

  get billUnseen(): Bill {
    return this.bill(null)
  }

  ask(route: Route): UnitProviderRequest {
    const { container } = this.audio
    const { contentType, pieces } = formBody(
      [['model', route.upstreamModel], ...this.request.forward],
      [
        {
          name: 'file',
          filename: `audio.${container}`,
          contentType: CONTENT_TYPES[container],
          data: this.request.file,
        },
      ],
    )
    return { path: `/audio/${this.request.task}`, contentType, accept: 'application/json', body: pieces }
  }

  get answerBounds(): ScanBounds {
    return memberBounds(this.context.limits)
  }

  get reading(): MembersReading {
    const values = ['text', 'usage', 'duration']
    // One more than are taken, which shows that there are too many.
    return isSubtitles(this.request.format)
      ? { values, items: { name: 'segments', max: this.segmentsMax + 1 } }
      : { values }
  }

  private get segmentsMax(): number {
    return SEGMENTS_BASE + Math.ceil(this.audio.secondsMax) * SEGMENTS_PER_SECOND
  }

  answer(members: Members): BufferedAnswer | Rejected {
    const text = members.value('text')
    if (typeof text !== 'string') return rejected(null)
    const bill = this.bill(reportedSeconds(members))
    const { format } = this.request
    if (format === 'text') return { bill, contentType: TEXT_TYPE, body: () => text }
    if (isSubtitles(format)) {
      const subtitles = this.subtitles(members, text, format)
      if (subtitles === null) return rejected(null)
      return { bill, contentType: SUBTITLES[format].contentType, body: () => subtitles }
    }
    const own = `"text":${JSON.stringify(text)},"usage":{"type":"duration","seconds":${bill.quantity}}`
    return { bill, contentType: JSON_TYPE, body: (receipt) => members.relay([own], OWNED, receipt) }
  }

  /** Null when the answer has words, but not when they are spoken. */
  private subtitles({ items, bytes }: Members, text: string, format: SubtitleFormat): string | null {
    const segments = items ?? []
    if (segments.length > this.segmentsMax || (segments.length === 0 && text.trim() !== '')) return null
    return subtitlesOf(segments, bytes, format)
  }

  private bill(reported: number | null): Bill {
    if (reported === null || reported > this.plausibleSeconds()) {
      return countedBill(this.rates, Math.ceil(this.audio.seconds), 'estimated')
    }
    return countedBill(this.rates, Math.ceil(reported), 'reported')
  }

  /**
   * The longest report that is believed. A report above the measurement is not ignored, because a decoder may have found
   * sound that the measurement has not.
   */
  private plausibleSeconds(): number {
    const byBytes = this.request.file.length / BYTES_PER_SECOND_MIN
    return Math.max(this.audio.secondsMax * PLAUSIBLE_FACTOR + PLAUSIBLE_SECONDS, byBytes)
  }
}

/**
 * The duration that an answer states, in `usage` or next to the text, where one of them may be 0 for unknown; null when it
 * states none. Tokens are not sold here.
 */
function reportedSeconds(members: Members): number | null {
  let isZero = false
  const usage = members.value('usage')
  for (const stated of [isJsonObject(usage) ? usage['seconds'] : undefined, members.value('duration')]) {
    // Some write it as a text.
    const seconds = typeof stated === 'string' && DECIMAL.test(stated) ? Number(stated) : stated
    if (typeof seconds === 'number' && Number.isFinite(seconds) && seconds > 0) return seconds
    if (seconds === 0) isZero = true
  }
  return isZero ? 0 : null
}
