import { receiptJson } from '../../../contract/money/receipt.ts'
import { encodeHoldMeta } from '../../../contract/wire/holdMeta.ts'
import { RATE, STATUS, TIER, USAGE_SOURCE } from '../../../contract/wire/settlementNames.ts'
import type { Principal } from '../../access/principal.ts'
import { settlementText } from '../../admission/settlementText.ts'
import type { Model } from '../../catalog/catalog.ts'
import type { PricedItem } from '../../catalog/pricedItem.ts'
import type { Exchange } from '../../server/exchange.ts'
import { type Bill, NO_BILL, type RunStatus } from './bill.ts'
import type { Metered } from './metered.ts'
import type { RunServices } from './services.ts'

/** What a metered request is recorded as: the facts of its run, and the receipt and the settlement made of them. */
export abstract class RecordedRun<Item extends PricedItem = Model> {
  readonly requestId: string
  readonly principal: Principal
  wantUnits: number
  readonly leastUnits: number
  readonly holdMeta: string

  protected readonly exchange: Exchange
  protected readonly services: RunServices
  protected readonly model: Item
  protected bill: Bill = NO_BILL

  /** Which rates the bill is made by. */
  protected readonly rate: keyof typeof RATE = 'standard'
  protected heldUnits = 0
  /** On Redis's clock, as the book has it. */
  protected heldAtMs = 0

  protected readonly metered: Metered<Item>
  protected provider = ''
  protected firstByteMs = 0
  protected status: RunStatus = 'failed'
  protected errorCode: string | null = null
  protected clamped = false
  /** Fixed with the outcome, so that the client's receipt and the book's show the same. */
  protected durationMs = 0

  constructor(exchange: Exchange, principal: Principal, metered: Metered<Item>, services: RunServices) {
    this.exchange = exchange
    this.principal = principal
    this.metered = metered
    this.services = services
    this.requestId = exchange.id
    this.wantUnits = metered.wantUnits
    this.leastUnits = metered.leastUnits
    this.model = metered.model
    const { endpoint, streamed } = metered
    const { id, sheet } = this.model
    this.holdMeta = encodeHoldMeta({ model: id, endpoint, sheetVersion: sheet.version, streamed })
  }

  /** Whose prices the bill is made by. */
  protected get tier(): keyof typeof TIER {
    return this.principal.privateTier ? 'private' : 'standard'
  }

  /** The receipt of the outcome as the ledger has accepted it. */
  protected receipt(chargedUnits: number): string {
    const { model, metered, bill } = this
    return receiptJson({
      requestId: this.requestId,
      status: this.status,
      model: model.id,
      endpoint: metered.endpoint,
      sheetVersion: model.sheet.version,
      rate: this.rate,
      tier: this.tier,
      costUnits: chargedUnits,
      holdUnits: this.heldUnits,
      coinUsdUnits: model.sheet.coinUsdUnits,
      usage: bill.usage,
      quantity: bill.quantity,
      unit: bill.quantity > 0 ? model.unit : '',
      size: bill.size ?? '',
      usageSource: bill.source,
      clamped: this.clamped,
      streamed: metered.streamed,
      createdMs: this.heldAtMs,
      durationMs: this.durationMs,
      errorCode: this.errorCode,
      ...(this.services.paid?.receipt && { paid: this.services.paid.receipt }),
    })
  }

  /**
   * The settlement of the outcome, for the ledger.
   * @param chargeUnits 0 where the hold is voided
   */
  protected settlement(chargeUnits: number): string {
    const { model, metered, bill } = this
    this.durationMs = Math.max(0, Date.now() - this.exchange.startedAtMs)
    return settlementText({
      requestId: this.requestId,
      accountId: this.principal.accountId,
      keyId: this.principal.keyId,
      model: model.id,
      endpoint: metered.endpoint,
      provider: this.provider,
      sheetVersion: model.sheet.version,
      status: STATUS[this.status],
      errorCode: this.errorCode ?? '',
      streamed: metered.streamed,
      holdUnits: this.heldUnits,
      chargeUnits,
      usage: bill.usage,
      quantity: bill.quantity,
      unit: bill.quantity > 0 ? model.unit : '',
      size: bill.size ?? '',
      usageSource: USAGE_SOURCE[bill.source],
      clamped: this.clamped,
      startedAtMs: this.exchange.startedAtMs,
      firstByteMs: this.firstByteMs,
      durationMs: this.durationMs,
      rate: RATE[this.rate],
      tier: TIER[this.tier],
    })
  }
}
