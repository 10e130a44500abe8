import { promptTokens } from '../../../contract/money/charge.ts'
import type { LockCharge } from '../../../contract/money/lockCharge.ts'
import { assertMoney } from '../../../contract/money/moneyFault.ts'
import { receiptJson } from '../../../contract/money/receipt.ts'
import { RATE, STATUS, TIER, USAGE_SOURCE } from '../../../contract/wire/settlementNames.ts'
import { type BurntTokens, settlementText } from '../../admission/settlementText.ts'
import type { Route } from '../../catalog/pricedItem.ts'
import type { RequestRecorder } from '../../metrics/accessLog.ts'
import type { EndedRequest } from '../../metrics/modelMetrics.ts'
import type { RequestMetrics } from '../../metrics/requestMetrics.ts'
import type { Bill, RunStatus } from './bill.ts'
import type { RunContext } from './context.ts'
import type { HoldEnd, HoldLife } from './holdLife.ts'
import { tierOf } from './tier.ts'

const VOID = -1

/** The route that served a request, and since when. */
export interface ServedBy {
  /** The route that answered; null for none. */
  readonly route: Route | null
  /** As ProviderCall has it. */
  readonly firstByteMs: number
  /** Attempts at providers. */
  readonly tries: number
}

/** How a request has ended. */
export interface RunEnd {
  readonly status: RunStatus
  readonly bill: Bill
  readonly errorCode: string | null
}

/** A request that no provider has answered. */
export const NOBODY: ServedBy = { route: null, firstByteMs: 0, tries: 0 }

/**
 * The outcome of a request, fixed when it is decided, so that the client's receipt and the book agree. The bill counts for
 * `ok` and `partial`, and never beyond the hold; other outcomes void the hold.
 */
export class Outcome implements HoldEnd {
  readonly status: RunStatus
  readonly bill: Bill
  readonly errorCode: string | null
  /** The bill was more than the hold. */
  readonly clamped: boolean
  readonly chargeUnits: number
  /** Tokens of a lock that are burnt, a part of `chargeUnits`; undefined for none. */
  readonly burnt: BurntTokens | undefined
  /** For the ledger. */
  readonly settlement: string
  /** The report of attested hardware that the request was served by; '' outside of the private tier. */
  private readonly attestation: string

  private readonly run: RunContext
  private readonly hold: HoldLife
  private readonly servedBy: ServedBy
  private readonly durationMs: number

  constructor(run: RunContext, hold: HoldLife, servedBy: ServedBy, { status, bill, errorCode }: RunEnd) {
    this.run = run
    this.hold = hold
    this.servedBy = servedBy
    this.status = status
    this.bill = bill
    this.errorCode = errorCode
    const { heldUnits } = hold
    const locked = this.isCharged && hold.lockUnits > 0 ? lockCharge(run, hold, bill) : undefined
    const dueUnits = locked === undefined ? bill.units : locked.lockUnits + locked.sheetUnits
    this.clamped = this.isCharged && dueUnits > heldUnits
    this.chargeUnits = this.isCharged ? Math.min(dueUnits, heldUnits) : VOID
    this.burnt = locked === undefined ? undefined : burntTokens(run, locked)
    const burntUnits = this.burnt?.units ?? 0
    const isPart = burntUnits === 0 || (burntUnits <= this.chargeUnits && burntUnits <= hold.lockUnits)
    assertMoney(isPart, 'charge_is_its_parts', hold.requestId, burntUnits, this.chargeUnits)
    this.durationMs = Math.max(0, Date.now() - run.exchange.startedAtMs)
    this.attestation = attestationOf(run, servedBy)
    this.settlement = this.settlementText(servedBy)
  }

  /** Whether anything is charged; if not, the hold is voided. */
  get isCharged(): boolean {
    return this.status === 'ok' || this.status === 'partial'
  }

  /** All tokens of its usage; undefined where nothing is known of it. */
  get usedTokens(): number | undefined {
    const { usage, source } = this.bill
    return this.isCharged && source !== 'none' ? promptTokens(usage) + usage.output : undefined
  }

  /** Notes it among the counters of the process. @param admissionMs from its arrival to its provider's being called */
  count(metrics: RequestMetrics, admissionMs: number): void {
    const { run, servedBy, bill } = this
    const provider = servedBy.route?.provider
    const { counters } = metrics
    const ended = {
      model: run.metered.model.id,
      provider: provider?.id ?? '',
      key: provider?.key?.id ?? '',
      operation: run.metered.endpoint,
      status: this.status,
      errorCode: this.errorCode,
      usage: bill.usage,
      chargedUnits: this.isCharged ? this.costUnits(this.chargeUnits) : 0,
      streamed: run.metered.streamed,
      durationMs: this.durationMs,
      admissionMs,
      firstByteMs: servedBy.firstByteMs,
    }
    metrics.models.note(ended)
    if (metrics.recorders.length > 0) this.record(metrics.recorders, ended)
    run.exchange.isRecorded = true
    counters.ended[this.status]++
    if (this.clamped) counters.clamped++
    if (bill.source === 'estimated') counters.estimated++
    if (this.chargeUnits > 0) counters.chargedUnits += this.costUnits(this.chargeUnits)
  }

  private record(recorders: readonly RequestRecorder[], ended: EndedRequest): void {
    const { hold, servedBy } = this
    const { exchange, principal } = this.run
    const { accountId, keyId } = principal
    const { requestId, heldUnits: holdUnits } = hold
    const entry = { requestId, accountId, keyId, holdUnits, tries: servedBy.tries, ...ended }
    for (const recorder of recorders) recorder.ended(exchange, entry, Date.now())
  }

  /** The part of a charge that is taken from credits and coin: all except the tokens of a lock. */
  costUnits(chargedUnits: number): number {
    return chargedUnits - (this.burnt?.units ?? 0)
  }

  /** The receipt, as JSON. @param chargedUnits the charge that the ledger has accepted */
  receipt(chargedUnits: number): string {
    const { bill, hold } = this
    const { metered, tagging } = this.run
    const { model } = metered
    const { paid } = hold
    return receiptJson({
      requestId: hold.requestId,
      status: this.status,
      model: model.id,
      endpoint: metered.endpoint,
      sheetVersion: model.sheet.version,
      rate: metered.rate ?? 'standard',
      tier: tierOf(this.run),
      costUnits: this.costUnits(chargedUnits),
      holdUnits: hold.heldUnits,
      coinUsdUnits: model.sheet.coinUsdUnits,
      usage: bill.usage,
      quantity: bill.quantity,
      unit: bill.quantity > 0 ? model.unit : '',
      size: bill.size ?? '',
      attestation: this.attestation,
      usageSource: bill.source,
      clamped: this.clamped,
      streamed: metered.streamed,
      createdMs: hold.heldAtMs,
      durationMs: this.durationMs,
      firstByteMs: this.servedBy.firstByteMs,
      tries: this.servedBy.tries,
      errorCode: this.errorCode,
      ...(paid && { paid }),
      ...(this.burnt && { lock: this.burnt }),
      ...(tagging && { tagging }),
    })
  }

  private settlementText({ route, firstByteMs, tries }: ServedBy): string {
    const { bill, hold } = this
    const { metered, principal, exchange, tagging } = this.run
    const { model } = metered
    return settlementText({
      requestId: hold.requestId,
      accountId: principal.accountId,
      keyId: principal.keyId,
      model: model.id,
      endpoint: metered.endpoint,
      provider: route?.provider.id ?? '',
      sheetVersion: model.sheet.version,
      status: STATUS[this.status],
      errorCode: this.errorCode ?? '',
      streamed: metered.streamed,
      holdUnits: hold.heldUnits,
      chargeUnits: this.isCharged ? this.costUnits(this.chargeUnits) : 0,
      lock: this.burnt,
      usage: bill.usage,
      quantity: bill.quantity,
      unit: bill.quantity > 0 ? model.unit : '',
      size: bill.size ?? '',
      usageSource: USAGE_SOURCE[bill.source],
      clamped: this.clamped,
      startedAtMs: exchange.startedAtMs,
      firstByteMs,
      durationMs: this.durationMs,
      rate: RATE[metered.rate ?? 'standard'],
      tier: TIER[tierOf(this.run)],
      attestation: this.attestation,
      tries,
      tagging,
    })
  }
}

/**
 * The attestation report of the route that served a request of the private tier, the one in force when the request began;
 * '' for others.
 */
function attestationOf(run: RunContext, { route }: ServedBy): string {
  if (tierOf(run) !== 'private') return ''
  return route?.provider.report?.id ?? ''
}

function lockCharge({ metered }: RunContext, { lockUnits }: HoldLife, bill: Bill): LockCharge | undefined {
  return metered.lock?.hold.charge(bill.usage, bill.units, lockUnits)
}

function burntTokens({ metered }: RunContext, { lockUnits: units }: LockCharge): BurntTokens | undefined {
  const hold = metered.lock?.hold
  return hold === undefined || units === 0
    ? undefined
    : { seriesId: hold.seriesId, units, micros: units / hold.microUnits }
}
