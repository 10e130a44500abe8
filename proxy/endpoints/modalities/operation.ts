import type { Endpoint } from '../../../contract/catalog/catalog.ts'
import type { Principal } from '../../access/principal.ts'
import type { Model } from '../../catalog/catalog.ts'
import type { Route } from '../../catalog/pricedItem.ts'
import type { WholeEvents } from '../../dialects/shared/codec.ts'
import type { Preferences } from '../../dialects/shared/preferences.ts'
import type { AnswerJson } from '../../json/answerJson.ts'
import type { ScanBounds } from '../../json/answerScan.ts'
import type { ModelChoice } from '../../json/fields.ts'
import type { MembersReading } from '../../json/findMembers.ts'
import type { Tagged } from '../../json/tagging.ts'
import type { Exchange, RequestHead } from '../../server/exchange.ts'
import type { Rejected } from '../../upstream/refusal.ts'
import type { LargeBodies } from '../largeBodies/largeBodies.ts'
import type { Bill } from '../run/bill.ts'
import type { Metered } from '../run/metered.ts'
import type { RunServices } from '../run/services.ts'
import type { Beside } from './beside.ts'
import type { ModalityLimits } from './limits.ts'
import type { Members } from './members.ts'

/** A request that is valid by itself; the checks that depend on the model follow later. */
export interface UnitRequest extends ModelChoice, Tagged {
  readonly preferences: Preferences
  readonly beside: Beside
}

/** A provider request without its timeouts. */
export interface UnitProviderRequest {
  /** Below the provider's base path. */
  readonly path: string
  readonly contentType: string
  readonly accept: string
  readonly body: string | readonly Buffer[]
}

/** A request planned for its model: the hold, and the requests to providers. */
export interface UnitPlan {
  /** The worst case. */
  readonly holdUnits: number
  /** Tokens at worst; absent where it is not priced by them. */
  readonly tokensMax?: number
  /** Members of the request that not every provider gets. */
  readonly beside: Beside
  ask(route: Route): UnitProviderRequest
}

/** A provider's answer in one piece, and its bill. */
export interface BufferedAnswer {
  readonly bill: Bill
  readonly contentType: string
  /**
   * The body that the client gets.
   * @param receipt as JSON text, or '' while the ledger has not accepted it
   */
  body(receipt: string): string | readonly Uint8Array[]
}

/** A plan whose answer is sent in one piece. */
export interface BufferedPlan extends UnitPlan {
  /** The most bytes that an answer to this request may have. */
  readonly answerBytesMax: number
  /** The bounds of its JSON, and the parts of it that are never parsed. */
  readonly answerBounds: ScanBounds
  /** The members that are read. */
  readonly reading: MembersReading
  /** @param body the whole answer, for what was cut out of it */
  answer(
    members: Members,
    body: AnswerJson,
    large: LargeBodies,
  ): BufferedAnswer | Rejected | Promise<BufferedAnswer | Rejected>
  /** The charge for an answer that was requested but never arrived. */
  readonly billUnseen: Bill
}

/** A plan whose answer is bytes that are relayed as they arrive, at a price that is known in advance. */
export interface BytePlan extends UnitPlan {
  /** The most bytes that an answer to this request may have. */
  readonly answerBytesMax: number
  readonly bill: Bill
  readonly contentType: string
  /** The answer has no container, so that it may begin with any byte. */
  readonly samples: boolean
}

/** A plan whose answer is events that are relayed as they arrive. */
export interface EventPlan extends UnitPlan {
  /** The most bytes that an answer to this request may have, and one event of it. */
  readonly answerBytesMax: number
  readonly eventBytesMax: number
  /** The events of the answer; others are left out. */
  readonly pieces: EventKind
  readonly ends: EventKind
  /** How many `ends` the whole answer has. */
  readonly endsMax: number
  /** Writes an answer in one piece as the events of a stream; absent where it has no events. */
  readonly wholeEvents?: WholeEvents
  /** @param ends how many of them have come */
  billOf(ends: number): Bill
  /** The charge for an answer that may be made, and that is not read to its end. */
  readonly billUnseen: Bill
}

/** Events of one kind. */
export interface EventKind {
  readonly type: string
  /** The member with the text that they deliver; '' for none. */
  readonly member: string
}

/** How an operation is served that is asked for events. */
export interface EventOperation<Request extends UnitRequest> {
  asks(request: Request): boolean
  /** The kind of answers, by the name that providers have in the catalog. */
  readonly kind: string
  /** The member that asks for them. */
  readonly param: string
  plan(request: Request, context: PlanContext): EventPlan
}

/** The inputs of a plan. */
export interface PlanContext {
  readonly requestId: string
  readonly model: Model
  readonly principal: Principal
  readonly limits: ModalityLimits
}

/** An operation that is priced by a counted unit, or by the tokens of its input. */
export interface Operation<Request extends UnitRequest, Plan extends UnitPlan> {
  readonly endpoint: Endpoint
  /** Its body is a form with files. */
  readonly upload: boolean
  /** Its answer is relayed as it arrives. */
  readonly streamed: boolean
  /** Carries a request from its hold on. */
  readonly Run: new (
    exchange: Exchange,
    principal: Principal,
    metered: Metered,
    plan: Plan,
    services: RunServices,
  ) => { start(): void }
  /** Its answer as events, where a request asks for them; absent where it has none. */
  readonly events?: EventOperation<Request>
  /** @throws GatewayError 400 with the field at fault */
  read(body: Buffer, head: RequestHead, limits: ModalityLimits): Request
  /** @throws GatewayError with the code of the rule that the request breaks; nothing is held then */
  plan(request: Request, context: PlanContext): Plan | Promise<Plan>
}
