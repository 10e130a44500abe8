import { chargeUnits, promptTokens, type TokenUsage } from '../../../contract/money/charge.ts'
import { estimateUsage } from '../../../contract/money/estimate.ts'
import type { TextSample } from '../../../workers/textSample.ts'
import type { TokenCounter } from '../../tokens/tokenCounter.ts'
import type { Bill } from '../run/bill.ts'
import type { Run } from '../run/run.ts'
import type { ChatOrder } from './order.ts'
import { isBeyondCount, isOverReport, withoutCacheWrites } from './registeredUsage.ts'

/** The parts of an answer that determine its bill. */
export interface Produced {
  /** The provider's last report; when it is null, the usage is estimated. */
  readonly usage: TokenUsage | null
  readonly outputFrames: number
  readonly outputBytes: number
  /** Output frames that had arrived when the usage was reported. */
  readonly framesAtUsage: number
}

/** The model's output, where it was kept to be counted. */
export interface Written {
  readonly text: string | TextSample
  /** Output tokens that the hold pays for. */
  readonly tokensMax: number
}

/** Nothing but the prompt is billed. */
export const NOTHING_PRODUCED: Produced = { usage: null, outputFrames: 0, outputBytes: 0, framesAtUsage: 0 }

/** The bill of an answer: by the usage that the provider reported, else by an estimate. */
export function billOf(order: ChatOrder, produced: Produced): Bill {
  const { usage, outputFrames, framesAtUsage } = produced
  const outputFollowed = usage !== null && outputFrames > framesAtUsage
  const billed = usage === null || outputFollowed ? estimated(order, produced) : usage
  const source = usage === null || outputFollowed ? 'estimated' : 'reported'
  return { units: chargeUnits(order.admitted.rates, billed), usage: billed, quantity: 0, source }
}

/**
 * The bill of an answer without a reported usage: by the tokenizer if it answers in time.
 * @param written the model's output, where it was kept
 */
export async function countedBill(
  order: ChatOrder,
  produced: Produced,
  tokens: TokenCounter,
  written: string | TextSample | undefined,
): Promise<Bill> {
  const bill = billOf(order, produced)
  const { admitted, source } = order
  const { text, extraTokens } = await source.prompt(admitted.model.imageTokens)
  const counts = await tokens.countSoon(written === undefined ? [text] : [text, written])
  if (counts === null) return bill
  const [input = 0, output = bill.usage.output] = counts
  const usage = { ...bill.usage, input: input + extraTokens, output }
  return { ...bill, units: chargeUnits(admitted.rates, usage), usage }
}

/**
 * Ends a request with its usage. When the provider has not reported it, or is a registered one, the tokenizer is asked first,
 * for as long as a client may wait.
 * @param written always for a registered provider
 */
export function settleUsed(
  run: Run,
  order: ChatOrder,
  produced: Produced,
  status: 'ok' | 'partial',
  errorCode: string | null,
  written?: Written,
): void {
  const isRegistered = run.route?.registered !== undefined
  if (produced.usage !== null && !isRegistered) {
    run.settle(status, billOf(order, produced), errorCode)
    return
  }
  run.beginEnding()
  const counted = countedBill(order, { ...produced, usage: null }, run.services.tokens, written?.text)
  const outputMax = written?.tokensMax ?? 0
  counted
    .then((bill) => (isRegistered ? believedBill(run, order, produced, bill, outputMax) : bill))
    .then((bill) => run.settle(status, bill, errorCode))
    .catch((error: unknown) => run.crash(error))
}

/**
 * The bill of a registered provider's answer. A report that exceeds the gateway's own count is recorded against the provider,
 * and treated as missing.
 * @param counted the bill by the gateway's own count
 * @param outputMax tokens that were asked for; output beyond them is not charged
 */
function believedBill(
  { route, services }: Run,
  order: ChatOrder,
  { usage, ...produced }: Produced,
  counted: Bill,
  outputMax: number,
): Bill {
  const { model, rates } = order.admitted
  const billOfUsage = (billed: TokenUsage): Bill => ({ ...counted, units: chargeUnits(rates, billed), usage: billed })
  const { output } = counted.usage
  const believed = output <= outputMax ? counted : billOfUsage({ ...counted.usage, output: outputMax })
  if (route === null || usage === null) return believed
  const tokens = { prompt: promptTokens(counted.usage), output, outputMax }
  if (isOverReport(usage, tokens, model.thinking !== 'none')) services.canaries.of(route).overReports++
  if (isBeyondCount(usage, tokens) || produced.outputFrames > produced.framesAtUsage) return believed
  return { ...billOfUsage(withoutCacheWrites(usage)), source: 'reported' }
}

// A report before the last output is too low, but it is a lower bound.
function estimated(order: ChatOrder, { usage, outputFrames, outputBytes }: Produced): TokenUsage {
  const { prompt } = order.request
  const estimate = estimateUsage({
    promptBytes: prompt.textBytes,
    promptExtraTokens: prompt.images * order.admitted.model.imageTokens,
    frames: outputFrames,
    outputBytes,
  })
  return usage === null ? estimate : { ...usage, output: Math.max(usage.output, estimate.output) }
}
