import { chargeUnits, promptTokens, type TokenUsage } from '../../../contract/money/charge.ts'
import { estimateUsage, mendedUsage } from '../../../contract/money/estimate.ts'
import { isWhole, type ReportedUsage } from '../../../contract/money/usageReports.ts'
import type { TextSample } from '../../../workers/textSample.ts'
import { mediaCount } from '../../admission/holdSize.ts'
import type { Bill } from '../run/bill.ts'
import type { Run } from '../run/run.ts'
import type { ChatOrder } from './order.ts'
import { isBeyondCount, isOverReport, withoutCacheWrites } from './registeredUsage.ts'

/** The parts of an answer that determine its bill. */
export interface Produced {
  /** The provider's reports; when it is null, the usage is estimated. */
  readonly usage: ReportedUsage | null
  readonly outputFrames: number
  readonly outputBytes: number
  /** Output frames that had arrived when the usage was reported. */
  readonly framesAtUsage: number
}

/** A request whose hold has been granted. */
export interface GrantedOrder {
  readonly order: ChatOrder
  /** The output that the provider was asked for at most; no estimate exceeds it. */
  readonly maxTokens: number
}

/** Nothing but the prompt is billed. */
export const NOTHING_PRODUCED: Produced = { usage: null, outputFrames: 0, outputBytes: 0, framesAtUsage: 0 }

/** The bill of an answer: by the usage that the provider reported, and what it did not report by an estimate. */
export function billOf(granted: GrantedOrder, produced: Produced): Bill {
  const { usage } = produced
  const isReported = isWhole(usage) && !outputFollowed(produced)
  const billed = isReported ? usage : estimated(granted, produced)
  const source = isReported ? 'reported' : 'estimated'
  return { units: chargeUnits(granted.order.admitted.rates, billed), usage: billed, quantity: 0, source }
}

/**
 * The bill of an answer whose usage was not reported, or only in part: the rest by the tokenizer if it answers in time.
 * @param written the model's output, where it was kept
 */
async function countedBill(
  { services, principal }: Run,
  granted: GrantedOrder,
  produced: Produced,
  written: string | TextSample | undefined,
): Promise<Bill> {
  const bill = billOf(granted, produced)
  const { admitted, source } = granted.order
  const { text, extraTokens } = await source.prompt(admitted.model.imageTokens)
  const counts = await services.tokens.countSoon(written === undefined ? [text] : [text, written], principal.accountId)
  if (counts === null) return bill
  const [input = 0, counted = bill.usage.output] = counts
  const lacks = (side: 'prompt' | 'output') => produced.usage === null || produced.usage.missing === side
  const usage = {
    ...bill.usage,
    ...(lacks('prompt') && { input: input + extraTokens }),
    ...(lacks('output') && { output: Math.min(counted, granted.maxTokens) }),
  }
  return { ...bill, units: chargeUnits(admitted.rates, usage), usage }
}

/**
 * Ends a request with its usage. When the provider has not reported it, or is a registered one, the tokenizer is asked first,
 * for as long as a client may wait.
 * @param written always for a registered provider
 */
export function settleUsed(
  run: Run,
  granted: GrantedOrder,
  produced: Produced,
  { status, errorCode }: { readonly status: 'ok' | 'partial'; readonly errorCode: string | null },
  written?: string | TextSample,
): void {
  const { asked: route, services } = run
  const isRegistered = route?.registered !== undefined
  if (produced.usage?.contradicts === true && route !== null) services.onUsageContradicted(route)
  if (isWhole(produced.usage) && !isRegistered) {
    run.settle(status, billOf(granted, produced), errorCode)
    return
  }
  run.beginEnding()
  const unreported = isRegistered ? { ...produced, usage: null } : produced
  countedBill(run, granted, unreported, written)
    .then((bill) => run.settle(status, isRegistered ? believedBill(run, granted, produced, bill) : bill, errorCode))
    .catch((error: unknown) => run.crash(error))
}

/**
 * The bill of a registered provider's answer. A report that exceeds the gateway's own count is recorded against the provider,
 * and treated as missing.
 * @param counted the bill by the gateway's own count
 */
function believedBill(run: Run, granted: GrantedOrder, { usage, ...produced }: Produced, counted: Bill): Bill {
  const { asked: route, services } = run
  if (route === null || !isWhole(usage)) return counted
  const { model, rates } = granted.order.admitted
  const { output } = counted.usage
  const tokens = { prompt: promptTokens(counted.usage), output, outputMax: granted.maxTokens }
  if (isOverReport(usage, tokens, model.thinking !== 'none')) services.canaries.of(route).overReports++
  if (isBeyondCount(usage, tokens) || outputFollowed(produced)) return counted
  const billed = withoutCacheWrites(usage)
  return { ...counted, units: chargeUnits(rates, billed), usage: billed, source: 'reported' }
}

function outputFollowed({ outputFrames, framesAtUsage }: Omit<Produced, 'usage'>): boolean {
  return outputFrames > framesAtUsage
}

// A report before the last output is too low, but it is a lower bound.
function estimated({ order, maxTokens }: GrantedOrder, produced: Produced): TokenUsage {
  const { usage, outputFrames, outputBytes } = produced
  const { prompt } = order.request
  const estimate = estimateUsage({
    promptBytes: prompt.textBytes,
    promptExtraTokens: mediaCount(prompt) * order.admitted.model.imageTokens,
    frames: outputFrames,
    outputBytes,
    outputTokensMax: maxTokens,
  })
  return mendedUsage(usage, estimate, outputFollowed(produced))
}
