import { saysSomething } from '../../../contract/api/answerError.ts'
import { findMembers } from '../../json/findMembers.ts'
import { isSomeText } from '../../json/jsonSpans.ts'
import { dataKind } from '../../sse/dataKind.ts'
import { FrameReader, type FrameSink } from '../../sse/frameReader.ts'
import { NOWHERE, type OutBuffer } from '../../sse/outBuffer.ts'
import { inUtf8, joinLines } from '../../sse/sseText.ts'
import type { ModalityLimits } from './limits.ts'
import type { EventKind, EventPlan } from './operation.ts'

const READING = { values: ['type'] }
const END = Buffer.from('\n\n')

/** Reads a provider's events of an answer that is not a chat, and writes those that its client knows, as they are. */
export class MediaEvents implements FrameSink {
  /** Events that end the answer, or one of its parts. */
  ends = 0
  /** The stream cannot be read further. */
  broken = false
  private hasPiece = false
  /** An error event of the provider, parsed. */
  error: unknown = null
  private readonly plan: EventPlan
  private readonly limits: ModalityLimits
  private readonly reader: FrameReader
  private out: OutBuffer = NOWHERE

  constructor(plan: EventPlan, limits: ModalityLimits) {
    this.plan = plan
    this.limits = limits
    this.reader = new FrameReader({ ...limits, eventBytesMax: plan.eventBytesMax })
  }

  /** Everything has come. */
  get whole(): boolean {
    return this.ends >= this.plan.endsMax
  }

  push(bytes: Buffer, out: OutBuffer): void {
    this.out = out
    if (!this.reader.push(bytes, this)) this.broken = true
  }

  /** The provider's stream has ended. */
  finish(out: OutBuffer): void {
    this.out = out
    this.reader.finish(this)
  }

  onData(bytes: Buffer, start: number, end: number, lines: number): void {
    if (this.broken || this.whole) return
    if (lines > 1) joinLines(bytes, start, end)
    const kind = dataKind(bytes, start, end)
    if (kind === 'object') this.readEvent(bytes.subarray(start, end))
    else if (kind === 'other') this.broken = true
  }

  onComment(): void {}

  private readEvent(event: Buffer): void {
    const isWithin = event.length <= this.plan.eventBytesMax
    const members = isWithin ? findMembers(event, READING, this.limits) : null
    const error = members?.values.get('error') ?? null
    // Clients trust a receipt, whoever wrote it.
    if (members === null || saysSomething(error) || members.spans.has('receipt')) {
      this.error = error
      this.broken = true
      return
    }
    const { pieces, ends } = this.plan
    const has = ({ member }: EventKind) => member === '' || isSomeText(event, members.spans.get(member))
    const type = members.values.get('type')
    const found = [pieces, ends].find((kind) => kind.type === type)
    if (found === undefined || !has(found)) return
    // An end that holds nothing itself ends what came before, which has to be something.
    if (found === ends && ends.member === '' && !this.hasPiece) {
      this.broken = true
      return
    }
    if (found === ends) this.ends++
    else this.hasPiece = true
    this.out.appendText(`event: ${found.type}\ndata: `)
    this.out.appendAll(inUtf8(event))
    this.out.appendAll(END)
  }
}
