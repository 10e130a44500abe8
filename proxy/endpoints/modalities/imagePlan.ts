import type { UnitRates } from '../../../contract/money/unitRates.ts'
import type { Span } from '../../../contract/std/span.ts'
import type { Route } from '../../catalog/pricedItem.ts'
import type { ScanBounds } from '../../json/answerScan.ts'
import { findMembers, type ListItem, type MembersContent, type MembersReading } from '../../json/findMembers.ts'
import { isSomeText, spanBytes } from '../../json/jsonSpans.ts'
import { JSON_TYPE } from '../../server/exchange.ts'
import type { Rejected } from '../../upstream/refusal.ts'
import type { Bill } from '../run/bill.ts'
import { oneEvent, onOneLine } from '../run/streamBody.ts'
import type { Beside } from './beside.ts'
import { countedBill, countedRates } from './counted.ts'
import { chooseSize, type ImageRequest } from './imageRequest.ts'
import type { ModalityLimits } from './limits.ts'
import { type Members, memberBounds, rejected } from './members.ts'
import type {
  BufferedAnswer,
  BufferedPlan,
  EventKind,
  EventPlan,
  PlanContext,
  UnitProviderRequest,
} from './operation.ts'

const OWNED: ReadonlySet<string> = new Set(['created', 'model', 'data'])
const OWN_NAMES: ReadonlySet<string> = new Set(['type', 'created_at'])
/** The members of an answer that its events have too, under the same names. */
const STATED = ['background', 'output_format', 'quality', 'size', 'usage']

/** Images that are priced by the piece: held for the number requested, charged for the number received. */
export abstract class ImagePlan implements BufferedPlan {
  readonly holdUnits: number
  readonly beside: Beside
  protected readonly request: ImageRequest
  protected readonly size: string
  private readonly context: PlanContext
  private readonly rates: UnitRates

  constructor(request: ImageRequest, context: PlanContext) {
    this.request = request
    this.beside = request.beside
    this.context = context
    this.rates = countedRates(context.model, context.principal)
    this.size = chooseSize(request.size, this.rates, context.limits)
    this.holdUnits = this.bill(request.n).units
  }

  abstract ask(route: Route): UnitProviderRequest

  get images(): number {
    return this.request.n
  }

  get partialImages(): number {
    return this.request.partialImages ?? 0
  }

  get answerBytesMax(): number {
    const { answerBytesBase, imageAnswerBytesMax, responseBodyBytesMax } = this.context.limits
    return Math.min(responseBodyBytesMax, answerBytesBase + this.request.n * imageAnswerBytesMax)
  }

  get billUnseen(): Bill {
    return this.bill(this.request.n)
  }

  get answerBounds(): ScanBounds {
    return memberBounds(this.context.limits)
  }

  get reading(): MembersReading {
    return { values: ['created'], items: { name: 'data', max: this.context.limits.imagesPerAnswerMax + 1 } }
  }

  answer(members: Members): BufferedAnswer | Rejected {
    const data = members.bytesOf('data')
    const { bytes, items: images } = members
    if (data === undefined || images === null || images.length > this.context.limits.imagesPerAnswerMax) {
      return rejected(null)
    }
    // A provider bills the images that it made, also where it blocked others.
    const made = images.filter((image) => isImage(bytes, image))
    if (made.length === 0 && images.length > 0) return rejected(null)
    const bill = this.bill(made.length)
    const pieces = made.length === images.length ? [data] : listOf(bytes, made)
    return { bill, contentType: JSON_TYPE, body: (receipt) => this.bodyOf(members, pieces, receipt) }
  }

  /** The members of the provider request except its model, as texts. */
  protected fields(): (readonly [name: string, text: string])[] {
    const { prompt, forward } = this.request
    const size: [string, string][] = this.size === '' ? [] : [['size', this.size]]
    return [['prompt', prompt], ...forward, ...size]
  }

  private bodyOf(members: Members, data: readonly (string | Buffer)[], receipt: string): readonly Buffer[] {
    const stated = members.value('created')
    const created = Number.isSafeInteger(stated) ? stated : Math.floor(Date.now() / 1000)
    const own = `"created":${created},"model":${JSON.stringify(this.context.model.id)},"data":`
    return members.relay([own, ...data], OWNED, receipt)
  }

  /** @param images that were made */
  bill(images: number): Bill {
    return countedBill(this.rates, images, 'reported', this.size)
  }
}

/** The events of a streamed image; those on the way are not charged. */
export class ImageEventPlan implements EventPlan {
  readonly pieces: EventKind
  readonly ends: EventKind
  private readonly plan: ImagePlan
  private readonly limits: ModalityLimits

  /** @param kind of the events' types */
  constructor(plan: ImagePlan, kind: string, { limits }: PlanContext) {
    this.plan = plan
    this.limits = limits
    this.pieces = { type: `${kind}.partial_image`, member: 'b64_json' }
    this.ends = { type: `${kind}.completed`, member: 'b64_json' }
  }

  get holdUnits(): number {
    return this.plan.holdUnits
  }

  get beside(): Beside {
    return this.plan.beside
  }

  get endsMax(): number {
    return this.plan.images
  }

  get answerBytesMax(): number {
    return Math.min(this.limits.streamBytesMax, this.plan.answerBytesMax * (1 + this.plan.partialImages))
  }

  get eventBytesMax(): number {
    return this.limits.imageEventBytesMax
  }

  get billUnseen(): Bill {
    return this.plan.billUnseen
  }

  billOf(ends: number): Bill {
    return this.plan.bill(ends)
  }

  /** @param body an answer in one piece; what is none becomes the only event */
  readonly wholeEvents = (body: Buffer): Buffer => {
    const found = findMembers(body, this.plan.reading, this.limits)
    const images = found?.items?.filter(({ members }) => members?.has('b64_json')) ?? []
    if (found === null || images.length === 0) return oneEvent(body)
    return Buffer.concat(images.flatMap((image) => this.eventOf(body, found, image)))
  }

  ask(route: Route): UnitProviderRequest {
    return { ...this.plan.ask(route), accept: 'text/event-stream' }
  }

  /** The image with what the answer states of all of them. */
  private eventOf(body: Buffer, { spans, values }: MembersContent, { members }: ListItem): Buffer[] {
    const stated = STATED.flatMap((name) => (members?.has(name) ? [] : memberOf(body, name, spans.get(name))))
    const own = [...(members ?? [])].flatMap(([name, span]) => (OWN_NAMES.has(name) ? [] : memberOf(body, name, span)))
    const created = values.get('created')
    const createdAt = Number.isSafeInteger(created) ? `,"created_at":${String(created)}` : ''
    const start = `data: {"type":"${this.ends.type}"${createdAt}`
    return [Buffer.from(start), ...own, ...stated, Buffer.from('}\n\n')]
  }
}

function memberOf(body: Buffer, name: string, span: Span | undefined): Buffer[] {
  if (span === undefined) return []
  return [Buffer.from(`,${JSON.stringify(name)}:`), onOneLine(spanBytes(body, span))]
}

function isImage(body: Buffer, { members }: ListItem): boolean {
  return ['b64_json', 'url'].some((name) => isSomeText(body, members?.get(name)))
}

/** A JSON array of some values, in pieces. */
function listOf(body: Buffer, items: readonly ListItem[]): (string | Buffer)[] {
  return [...items.flatMap(({ span }, at) => [at === 0 ? '[' : ',', spanBytes(body, span)]), ']']
}
