import { shownMessage } from '../../../contract/providers/cleanMessage.ts'
import { providerErrorOf } from '../../../contract/providers/providerError.ts'
import { statedNumber } from '../../../contract/std/statedNumber.ts'
import type { Route } from '../../catalog/pricedItem.ts'
import { type AnswerBounds, parseAnswer } from '../../json/jsonObject.ts'
import type { HeaderBlock } from '../../upstream/transport/headerBlock.ts'
import { joinedBody } from '../shared/joinedBody.ts'
import { openaiHeaders, openaiReadHeaders } from './openaiHeaders.ts'

const PATH = '/videos'
const ID_CHARACTERS_MAX = 256
const SECONDS_MAX = 86_400
/** The status of the answer if the job had failed immediately. */
const FAILED_STATUS = 422

/** A video request to a provider. Empty texts are left out. */
export interface VideoOrder {
  readonly prompt: string
  readonly seconds: number
  /** WxH, in place of the two below where the provider wants that. */
  readonly size: string
  readonly aspectRatio: string
  readonly resolution: string
  readonly negativePrompt: string
  /** The first frame as a data URL, or as that in JSON in UTF-8; '' for none. */
  readonly image: string | Uint8Array
}

/** The state of a job as its provider reports it. */
export interface UpstreamVideo {
  readonly id: string
  readonly state: 'queued' | 'in_progress' | 'completed' | 'failed'
  /** Percent, 0 to 100. */
  readonly progress: number
  /** Length of the clip in whole seconds; null when the provider reports none or an unusable one. */
  readonly seconds: number | null
  /** Why it failed, cleaned for the client. */
  readonly error: string
}

export interface VideoProviderRequest {
  /** Below the provider's base path. */
  readonly path: string
  readonly headers: HeaderBlock
  readonly requestId: string
  readonly body: string | readonly Buffer[] | null
}

/** Asks for a clip: POST /videos as JSON, with the first frame as `input_reference`. */
export function askForVideo(route: Route, order: VideoOrder, requestId: string): VideoProviderRequest {
  const body = {
    model: route.upstreamModel,
    prompt: order.prompt,
    seconds: String(order.seconds),
    ...given('size', order.size),
    ...given('aspect_ratio', order.aspectRatio),
    ...given('resolution', order.resolution),
    ...given('negative_prompt', order.negativePrompt),
    ...(typeof order.image === 'string' && order.image !== '' && { input_reference: { image_url: order.image } }),
  }
  const headers = openaiHeaders(route.provider, 'application/json', 'application/json')
  const json = JSON.stringify(body)
  if (typeof order.image === 'string') return { path: PATH, headers, requestId, body: json }
  const pieces = [`${json.slice(0, -1)},"input_reference":{"image_url":`, order.image, '}}']
  return { path: PATH, headers, requestId, body: joinedBody(pieces) }
}

/** Asks how a job is doing. */
export function askForState(
  route: Pick<Route, 'provider'>,
  upstreamId: string,
  requestId: string,
): VideoProviderRequest {
  const headers = openaiReadHeaders(route.provider, 'application/json')
  return { path: `${PATH}/${encodeURIComponent(upstreamId)}`, headers, requestId, body: null }
}

/** Asks for the finished clip. */
export function askForClip(
  route: Pick<Route, 'provider'>,
  upstreamId: string,
  requestId: string,
): VideoProviderRequest {
  const headers = openaiReadHeaders(route.provider, 'video/*, application/octet-stream')
  return { path: `${PATH}/${encodeURIComponent(upstreamId)}/content`, headers, requestId, body: null }
}

/**
 * Reads a provider's job; null when the body is not a job, or exceeds the bounds of JSON that is read on the event loop.
 * @param knownId that of a job whose state was asked for, which not every provider repeats
 */
export function readUpstreamVideo(body: Buffer, bounds: AnswerBounds, knownId?: string): UpstreamVideo | null {
  const value = parseAnswer(body, bounds)
  if (value === null) return null
  const { id = knownId } = value
  if (typeof id !== 'string' || id === '' || id.length > ID_CHARACTERS_MAX || /[^\x21-\x7e]/.test(id)) return null
  return {
    id,
    state: stateOf(value['status']),
    progress: progressOf(value['progress']),
    seconds: secondsOf(value['seconds'] ?? value['duration']),
    error: shownMessage(FAILED_STATUS, providerErrorOf({ error: value['error'] })),
  }
}

const given = (name: string, text: string): Record<string, string> => (text === '' ? {} : { [name]: text })

const FAILURES =
  'failed fail failure cancelled canceled expired error rejected aborted timeout timed_out blocked'.split(' ')
/** The words of providers in lower case; any other is one of a job that is not over. */
const STATES: ReadonlyMap<unknown, UpstreamVideo['state']> = new Map<unknown, UpstreamVideo['state']>([
  ...(['queued', 'pending', 'submitted', 'created', 'waiting'] as const).map((name) => [name, 'queued'] as const),
  ...(['completed', 'succeeded', 'success', 'succeed', 'complete', 'done', 'finished', 'ready'] as const).map(
    (name) => [name, 'completed'] as const,
  ),
  ...FAILURES.map((name) => [name, 'failed'] as const),
])

function stateOf(status: unknown): UpstreamVideo['state'] {
  return STATES.get(typeof status === 'string' ? status.toLowerCase() : status) ?? 'in_progress'
}

function progressOf(progress: unknown): number {
  if (typeof progress !== 'number' || !Number.isFinite(progress)) return 0
  return Math.min(100, Math.max(0, Math.floor(progress)))
}

/** Zero is zero; a negative, fractional or absurd number counts as missing. */
function secondsOf(seconds: unknown): number | null {
  const value = statedNumber(seconds)
  return Number.isInteger(value) && value >= 0 && value <= SECONDS_MAX ? value : null
}
