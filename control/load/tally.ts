import type { JsonObject } from '../../contract/std/jsonObject.ts'
import type { Answer } from './answer.ts'
import { Histogram } from './histogram.ts'
import type { LoadLimits } from './limits.ts'
import { answerDifferences, chargeUnits } from './receiptCheck.ts'
import { Series } from './series.ts'

/** The kinds of faults that a load test finds, by the names that reports give them. */
export const FAULTS = ['errors', 'cut_streams', 'lost_frames', 'reordered_frames', 'stalls', 'wrong_receipts'] as const
export type Fault = (typeof FAULTS)[number]

/** A receipt as the client saw it, for a comparison with the book. */
export interface SeenReceipt {
  readonly key: string
  readonly receipt: JsonObject
}

/** Counts and times of many answers, in bounded memory. */
export class Tally {
  readonly first = new Histogram()
  readonly between = new Histogram()
  readonly total = new Histogram()
  readonly series: Series
  readonly errors = new Map<string, number>()
  readonly counts: Record<Fault, number>
  readonly examples: Record<Fault, string[]>
  /** Of those that agree with their answers, evenly spread over the load test. */
  readonly sample: SeenReceipt[] = []
  answers = 0
  good = 0
  receipts = 0
  chargedUnits = 0n
  dearestUnits = 0n
  promptTokens = 0
  completionTokens = 0
  longestGapMs = 0
  /** The sum of the times in which requests began and ended. */
  runningMs = 0
  private goodWithout = 0
  private readonly limits: LoadLimits
  private readonly startMs: number

  /** @param startMs of the load test, by `performance.now()` */
  constructor(limits: LoadLimits, startMs: number) {
    this.limits = limits
    this.startMs = startMs
    this.series = new Series(limits.loadSeriesMax)
    this.counts = { errors: 0, cut_streams: 0, lost_frames: 0, reordered_frames: 0, stalls: 0, wrong_receipts: 0 }
    this.examples = {
      errors: [],
      cut_streams: [],
      lost_frames: [],
      reordered_frames: [],
      stalls: [],
      wrong_receipts: [],
    }
  }

  /** Good answers without a receipt, where others have one. */
  get missingReceipts(): number {
    return this.receipts === 0 ? 0 : this.goodWithout
  }

  add(answer: Answer): void {
    const { dueMs, firstMs, endMs, errorCode, isCut, longestGapMs } = answer
    this.answers++
    this.series.add(endMs - this.startMs, errorCode === '', endMs - dueMs)
    for (const gapMs of answer.gapsMs) this.between.add(gapMs)
    if (firstMs > 0 && answer.status === 200) this.first.add(firstMs - dueMs)
    this.longestGapMs = Math.max(this.longestGapMs, longestGapMs)
    const id = answer.requestId || 'a request without an id'
    if (errorCode === '') this.addGood(answer)
    else this.addError(isCut ? 'cut_streams' : 'errors', errorCode, `${id}: ${errorCode}`)
    this.addFault('lost_frames', answer.lostFrames, `${id}: ${answer.lostFrames} frames are missing`)
    this.addFault(
      'reordered_frames',
      answer.reorderedFrames,
      `${id}: ${answer.reorderedFrames} frames came late or twice`,
    )
    this.addFault('stalls', answer.stalls, `${id}: nothing came for ${Math.round(longestGapMs)} ms`)
    this.addReceipt(answer)
  }

  /** Requests that were due and could not be sent. */
  addUnsent(count: number): void {
    if (count === 0) return
    this.answers += count
    this.counts.errors += count
    this.errors.set('not_sent', (this.errors.get('not_sent') ?? 0) + count)
    this.example('errors', `${count} requests were due and had no free connection`)
  }

  addFault(fault: Fault, count: number, example: string): void {
    if (count === 0) return
    this.counts[fault] += count
    this.example(fault, example)
  }

  private addGood({ kind, usage, receipt, dueMs, endMs, firstMs }: Answer): void {
    this.good++
    this.total.add(endMs - dueMs)
    if (firstMs === 0 && !kind.isStreamed) this.first.add(endMs - dueMs)
    if (receipt === undefined) this.goodWithout++
    this.promptTokens += tokensOf(usage?.['prompt_tokens'])
    this.completionTokens += tokensOf(usage?.['completion_tokens'])
  }

  private addError(fault: Fault, code: string, example: string): void {
    const isKnown = this.errors.has(code) || this.errors.size < this.limits.loadErrorCodesMax
    const name = isKnown ? code : 'other'
    this.errors.set(name, (this.errors.get(name) ?? 0) + 1)
    this.addFault(fault, 1, example)
  }

  private addReceipt(answer: Answer): void {
    const { receipt, key, requestId } = answer
    if (receipt === undefined) return
    const units = chargeUnits(receipt) ?? 0n
    this.chargedUnits += units
    if (units > this.dearestUnits) this.dearestUnits = units
    this.receipts++
    const differences = answerDifferences(answer)
    if (differences.length === 0) this.keep({ key, receipt })
    this.addFault('wrong_receipts', differences.length === 0 ? 0 : 1, `${requestId}: ${differences.join('; ')}`)
  }

  /** Every receipt stays with about the same chance, so that the sample is of the whole load test. */
  private keep(seen: SeenReceipt): void {
    if (this.sample.length < this.limits.loadBookSampleMax) this.sample.push(seen)
    else {
      const place = Math.floor(Math.random() * this.receipts)
      if (place < this.sample.length) this.sample[place] = seen
    }
  }

  private example(fault: Fault, text: string): void {
    if (this.examples[fault].length < this.limits.loadExamplesMax) this.examples[fault].push(text)
  }
}

function tokensOf(value: unknown): number {
  return Number.isSafeInteger(value) ? Number(value) : 0
}
