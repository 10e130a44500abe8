import { CALL_MEMBER, REASONING_MEMBER, STOPS_USUAL } from '../../../contract/catalog/requestForm.ts'
import { quoted } from '../../../contract/money/quoted.ts'
import type { RequestPart } from '../../../contract/providers/requestPart.ts'
import type { JsonObject } from '../../../contract/std/jsonObject.ts'
import { hasMedia } from '../../admission/holdSize.ts'
import type { Route } from '../../catalog/pricedItem.ts'
import type { ChatFields, ChatRequest } from '../shared/chatRequest.ts'
import type { AskModel, CutRequest, Printed, ProviderRequest, ProviderRequestBuilder } from '../shared/codec.ts'
import { joinedBody } from '../shared/joinedBody.ts'
import { demandsReasoning, withoutKeptReasoning, withReasoning } from '../shared/keptReasoning.ts'
import { withoutPdfs } from '../shared/pdf.ts'
import { withoutRefused } from '../shared/refusedParts.ts'
import { shapedBody } from '../shared/requestForm.ts'
import { fittingEffort } from '../shared/topEffort.ts'
import { openaiHeaders } from './openaiHeaders.ts'
import { withPlainResults } from './plainResults.ts'
import { printedMembers } from './printedMembers.ts'
import { withoutCallMembers } from './promptCalls.ts'
import { shownByUsers } from './shownByUsers.ts'

// Usage is requested even when the client does not get it, because the charge depends on it.
const STREAMED = '"stream":true,"stream_options":{"include_usage":true},'
const STREAMED_BARE = '"stream":true,'
const EFFORT = 'reasoning_effort'
const NO_EFFORT = 'none'

/** A path of providers of the OpenAI dialect. */
interface OpenaiPath {
  readonly path: string
  /** Its only name for the output limit; null is the provider's own or the client's. */
  readonly limitName: string | null
}

export const CHAT: OpenaiPath = { path: '/chat/completions', limitName: null }
/** For endpoints where `prompt` replaces `messages`. */
export const TEXT: OpenaiPath = { path: '/completions', limitName: 'max_tokens' }

/** A request as providers of the OpenAI dialect read it. @param form how the provider wants it; null or absent is as usual */
export function printOpenai(
  request: ChatRequest,
  { form, pdfTokens = 0, leavesOut = [] }: Pick<AskModel, 'form' | 'pdfTokens' | 'leavesOut'>,
  cutWhole: CutRequest | null = null,
): Printed {
  // Messages that are joined are no strings of the client's any more.
  const cut = form?.systemFirst === true ? null : cutWhole
  const sent = cut?.marked() ?? request
  const read = leavesOut.length === 0 ? sent : withoutRefusedParts(sent, leavesOut)
  const whole = takenBy(read, form, pdfTokens > 0, leavesOut)
  const shaped = form === null || form === undefined ? whole : shapedBody(whole, form, read.effort, read.extras)
  const forward = withPlainResults(withoutExcessStops(shaped, form?.stopSequencesMax || STOPS_USUAL))
  const rest = printedMembers(forward, sent.prompt.textBytes)
  const printed = cut === null ? { rest } : { rest, cut }
  const isCutShort = forward['stop'] !== whole['stop'] && !isNamedAnyway(request, forward)
  const isThoughtless =
    read.effort !== sent.effort && read.effort === NO_EFFORT && request.named?.includes(EFFORT) === true
  if (!isCutShort && !isThoughtless) return printed
  const dropped = [...(isCutShort ? [request.stopParam ?? 'stop'] : []), ...(isThoughtless ? [EFFORT] : [])]
  return { ...printed, dropped }
}

function withoutRefusedParts(request: ChatRequest, leavesOut: readonly RequestPart[]): ChatRequest {
  const { effort, ...sent } = request
  const forward = withoutRefused(sent.forward, leavesOut)
  if (leavesOut.includes('toolThoughts') && forward['tools'] !== undefined) {
    return { ...sent, forward: { ...forward, [EFFORT]: NO_EFFORT }, effort: NO_EFFORT }
  }
  const isKept = effort !== undefined && !leavesOut.includes('effort')
  return { ...sent, forward, ...(isKept && { effort: fittingEffort(effort, leavesOut) }) }
}

function withoutExcessStops(body: JsonObject, max: number): JsonObject {
  const { stop } = body
  return Array.isArray(stop) && stop.length > max ? { ...body, stop: stop.slice(0, max) } : body
}

/** Whether the stop sequences are among the options that the answer names because of the provider's form. */
function isNamedAnyway({ named }: ChatRequest, { stop }: JsonObject): boolean {
  return stop === undefined && named?.includes('stop') === true
}

/** The body with those parts and members of its messages that a provider takes. */
function takenBy(
  { prompt, forward }: ChatRequest,
  form: AskModel['form'],
  takesPdfs: boolean,
  leavesOut: readonly RequestPart[],
): JsonObject {
  const lacksMember = prompt.callMembers === true && form?.extra.includes(CALL_MEMBER) !== true
  const takesReasoning = form?.extra.includes(REASONING_MEMBER) === true || leavesOut.includes('unreasonedCalls')
  const wantsReasoning = takesReasoning && demandsReasoning(forward['messages'])
  const { keptReasoning = false } = prompt
  if (!hasMedia(prompt) && !lacksMember && !wantsReasoning && !keptReasoning) return forward
  const messages = forward['messages'] as readonly JsonObject[]
  const known = wantsReasoning ? withReasoning(messages) : keptReasoning ? withoutKeptReasoning(messages) : messages
  const shown = shownByUsers(known)
  // Providers of this dialect read files of users alone.
  const read = (prompt.pdfs ?? 0) === 0 ? shown : withoutPdfs(shown, (role) => takesPdfs && role === 'user')
  return { ...forward, messages: lacksMember ? withoutCallMembers(read) : read }
}

/** Builds requests to providers of the OpenAI dialect; everything but the model's name is built once per request. */
export class OpenaiRequestBuilder implements ProviderRequestBuilder {
  private readonly request: ChatFields
  private readonly requestId: string
  private readonly printed: Printed
  private readonly to: OpenaiPath

  /** @param printed from printOpenai */
  constructor(request: ChatFields, requestId: string, printed: Printed, to: OpenaiPath = CHAT) {
    this.request = request
    this.requestId = requestId
    this.printed = printed
    this.to = to
  }

  get dropped(): readonly string[] | undefined {
    return this.printed.dropped
  }

  make(route: Route, maxTokens: number): ProviderRequest {
    const { provider } = route
    const limitName = this.to.limitName ?? (provider.maxTokensField || this.request.maxTokensName)
    const accept = this.request.stream ? 'text/event-stream' : 'application/json'
    const { rest, cut } = this.printed
    const streamed = provider.form?.refusesStreamOptions === true ? STREAMED_BARE : STREAMED
    const members = this.request.stream ? streamed : ''
    const start = `{"model":${quoted(route.upstreamModel)},"${limitName}":${maxTokens},${members}`
    return {
      path: this.to.path,
      headers: openaiHeaders(provider, 'application/json', accept),
      requestId: this.requestId,
      body: joinedBody([start, rest], cut),
    }
  }
}
