import type { ChatEndpoint } from '../../../contract/catalog/catalog.ts'
import type { Dialect, EndpointOf } from '../../../contract/catalog/dialects.ts'
import type { RequestForm } from '../../../contract/catalog/requestForm.ts'
import type { GatewayError } from '../../../contract/errors/errors.ts'
import type { TokenUsage } from '../../../contract/money/charge.ts'
import type { ReportedUsage } from '../../../contract/money/usageReports.ts'
import type { RequestPart } from '../../../contract/providers/requestPart.ts'
import type { JsonObject } from '../../../contract/std/jsonObject.ts'
import type { TextSample } from '../../../workers/textSample.ts'
import type { Model } from '../../catalog/catalog.ts'
import type { Route } from '../../catalog/pricedItem.ts'
import type { AnswerJson } from '../../json/answerJson.ts'
import type { AnswerBounds } from '../../json/jsonObject.ts'
import type { Rejected } from '../../upstream/refusal.ts'
import type { HeaderBlock } from '../../upstream/transport/headerBlock.ts'
import type { DialectLimits } from '../limits.ts'
import type { ChatFields, ChatRequest } from './chatRequest.ts'
import type { RelayStream } from './relayStream.ts'

/** A request whose long strings are forwarded to the provider as their original bytes. */
export interface CutRequest {
  /** Reads the request again, with marks in place of the long strings. */
  marked(): ChatRequest
  /** The bytes of JSON that has marks, each in its own string as the client's string was. */
  fill(json: string): Buffer[]
}

/** The properties of a model, and of the provider that is asked for it, that determine how requests are written. */
export interface AskModel extends Pick<Model, 'thinking' | 'pricesHour' | 'maxOutput'> {
  /** 0 or absent for a model that takes no PDFs, which become notes in a history. */
  readonly pdfTokens?: number
  /** How the provider wants its requests; null or absent is as usual. */
  readonly form?: RequestForm | null
  /** Parts that are left out, because a provider has refused them; absent for none. */
  readonly leavesOut?: readonly RequestPart[]
}

/** A request in the dialect of a provider, except for the parts that depend on the route and on the hold. */
export interface Printed {
  /** Members of the body without the brace that opens it, as JSON: text, or UTF-8 bytes. */
  readonly rest: string | Uint8Array
  /** Options that the output limit decides on. */
  readonly options?: JsonObject
  /** The format of the answer as JSON, where it is merged with such options; absent when there is none. */
  readonly format?: string | Uint8Array
  /** Puts back the strings that were cut out of `rest`; absent where none were. */
  readonly cut?: CutRequest
  /** The client's names of members that are left out of it, at least in part; absent for none. */
  readonly dropped?: readonly string[]
}

/** A provider request without its timeouts. */
export interface ProviderRequest {
  /** Below the provider's base path. */
  readonly path: string
  readonly headers: HeaderBlock
  readonly requestId: string
  readonly body: string | readonly Buffer[]
}

/** A request on its way to providers of one dialect. */
export interface ProviderRequestBuilder {
  /** @param maxTokens the output limit that the hold pays for */
  make(route: Route, maxTokens: number): ProviderRequest
  /** The client's names of members that the last request was made without, at least in part; absent for none. */
  readonly dropped?: readonly string[] | undefined
}

/** The request whose answer is read. */
export interface AnswerContext {
  readonly requestId: string
  /** When the request arrived. */
  readonly startedAtMs: number
  readonly model: Pick<Model, 'id' | 'context' | 'maxOutput' | 'imageTokens'>
  /** See UsageBounds; absent is false. */
  readonly outputFromTotal?: boolean
  readonly request: Pick<ChatFields, 'includeUsage' | 'echo' | 'prompt' | 'tools' | 'returnsThoughts' | 'compacts'>
  readonly limits: DialectLimits
}

/** A provider's answer in one piece. */
export interface WholeAnswer {
  readonly usage: ReportedUsage | null
  /** UTF-8 bytes of the model's output. */
  readonly outputBytes: number
  /** The text that the model wrote, to count its tokens if the provider did not. */
  written(): string | TextSample
  /** The body that the client gets, up to what the codec's `end` adds. */
  head(): string | Uint8Array
}

/** Writes a provider's answer in one piece as the events of its dialect; nothing for a body that is no answer. */
export type WholeEvents = (body: Buffer, bounds: AnswerBounds) => Buffer

/** Carries one client format over one provider dialect. */
export interface ChatCodec {
  /** @param cut for a provider that gets the request in the client's own format; null where it has no long strings */
  print(request: ChatRequest, model: AskModel, cut: CutRequest | null): Printed
  ask(request: ChatFields, requestId: string, model: AskModel, printed: Printed): ProviderRequestBuilder
  stream(context: AnswerContext): RelayStream
  answer(body: AnswerJson, context: AnswerContext): WholeAnswer | Rejected
  /** An answer in one piece as the events of a stream; absent where `stream` reads it as one event. */
  readonly wholeEvents?: WholeEvents
  /**
   * The end of an answer in one piece.
   * @param receipt as JSON text, or '' while the ledger has not accepted it
   */
  end(billed: TokenUsage, receipt: string): string
}

/** The codecs of an endpoint: one for each dialect whose providers serve it by the table of dialects, null for the others. */
export type Codecs<Served extends ChatEndpoint> = {
  readonly [D in Dialect]: Served extends EndpointOf<D> ? ChatCodec : null
}

/** @throws Error for a dialect that the endpoint is not served over, which is a fault of the gateway */
export function codecOf({ endpoint, codecs }: ChatSurface, dialect: Dialect): ChatCodec {
  const codec = codecs[dialect]
  if (codec === null) throw new Error(`${endpoint} is not served over ${dialect}`)
  return codec
}

/** The formats in which chat models are asked: one of each endpoint, and that of responses which sum up a conversation. */
export type SurfaceName = ChatEndpoint | 'compact'

/** One format of an endpoint of the chat models: how its requests read, and how they travel. */
export interface ChatSurface<Served extends ChatEndpoint = ChatEndpoint> {
  readonly name: SurfaceName
  readonly endpoint: Served
  /** @throws GatewayError 400 with the field at fault */
  read(body: JsonObject, limits: DialectLimits): ChatRequest
  /** The objects of a body that have inputs of calls as JSON, as member `input`; absent for a format that has them as text. */
  callsIn?(body: JsonObject): JsonObject[]
  readonly codecs: Codecs<Served>
  /** The events that report an internal error to the client and end its stream. */
  faultEvents(fault: GatewayError): string
}
