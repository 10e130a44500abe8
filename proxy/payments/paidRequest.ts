import { hash } from 'node:crypto'
import { errorBody, GatewayError } from '../../contract/errors/errors.ts'
import type { ReceiptPaid } from '../../contract/money/receipt.ts'
import { ownAddress } from '../../contract/net/ownAddress.ts'
import { type Address, networkOf, parseAddress } from '../../contract/payments/address.ts'
import { tokenUsdUnits, unitsOf } from '../../contract/payments/conversion.ts'
import { paymentToMessage } from '../../contract/payments/messages.ts'
import { readCredential, sourceAccount } from '../../contract/payments/mpp.ts'
import type { PaymentTerms } from '../../contract/payments/terms.ts'
import type { Verdict } from '../../contract/payments/verdict.ts'
import { readPaymentHeader } from '../../contract/payments/x402.ts'
import type { sluice } from '../../contract/wire/generated/messages.js'
import { decodeHoldMeta } from '../../contract/wire/holdMeta.ts'
import { clientAddress } from '../access/clientAddress.ts'
import { heldMoney } from '../admission/held.ts'
import { type HoldWaiter, LOST_ANSWER } from '../admission/holds.ts'
import { ControlUnavailable, type RpcClient } from '../bus/rpcClient.ts'
import type { CatalogStore } from '../catalog/catalogStore.ts'
import {
  type AnswerDecorator,
  type Exchange,
  type FailureAnswer,
  type HeaderList,
  JSON_TYPE,
} from '../server/exchange.ts'
import { readAgent } from './agent.ts'
import type { CheckedPayment } from './checkedPayment.ts'
import { type PaymentCredential, readPaymentCredential } from './credential.ts'
import type { PaymentLimits } from './limits.ts'
import { checkMpp } from './mppCheck.ts'
import type { Priced } from './offers.ts'
import { type PaymentDemand, paidHeaders, paymentRequired } from './paymentAnswer.ts'
import type { TermsCache } from './termsCache.ts'
import type { PaymentVerifier } from './verifier.ts'
import { checkX402 } from './x402Check.ts'

/** The payer for whom a request without a payment is priced. */
const NOBODY: Address = `0x${'00'.repeat(20)}`
const COST_HEADER = 'x-cost-units'
/** Endpoints whose answers carry `receipt.paid` in place of the cost in a header. */
const PAID_IN_RECEIPT: ReadonlySet<string> = new Set(['chat', 'completions'])

/** The services that the paid requests of a process share. */
export interface PaymentServices {
  readonly terms: TermsCache
  readonly verifier: PaymentVerifier
  readonly rpc: Pick<RpcClient, 'call'>
  readonly catalog: Pick<CatalogStore, 'current'>
  readonly limits: PaymentLimits
  readonly owner: string
  /** The public address of the gateway; when it is empty, the client's Host header counts. */
  readonly publicUrl: string
  /** See `clientAddress`. */
  readonly trustedProxies: number
  readonly onFault: (error: unknown) => void
}

/**
 * A request that is paid per call (x402 or MPP). It serves as `Holding`: the price is the hold, so that taking the hold
 * means to answer with the price when the request carries no payment, and otherwise to settle the payment and take its hold.
 */
export class PaidRequest implements AnswerDecorator {
  /** Set once it is paid. */
  receipt: ReceiptPaid | undefined
  readonly payer: Address

  private readonly services: PaymentServices
  private readonly exchange: Exchange
  private readonly credential: PaymentCredential
  private readonly bodySha256: Buffer
  private asked: PaymentDemand | undefined
  private paidHeaders: HeaderList = []
  private endpoint = ''

  /** @throws GatewayError payment_conflict */
  constructor(services: PaymentServices, exchange: Exchange, body: Buffer) {
    this.services = services
    this.exchange = exchange
    this.bodySha256 = hash('sha256', body, 'buffer')
    this.credential = readPaymentCredential(exchange.head)
    this.payer = claimedPayer(this.credential, services.limits.paymentHeaderBytesMax)
    exchange.decorator = this
  }

  get isUnpaid(): boolean {
    return this.credential.kind === 'none' || this.credential.kind === 'x402 v1'
  }

  /** Refuses a request that carries no payment with its price. @throws GatewayError x402 */
  async quote(priced: Pick<HoldWaiter, 'requestId' | 'wantUnits' | 'holdMeta'>): Promise<void> {
    await this.pay(priced, this.price(priced.wantUnits))
  }

  /** Asks for the payment, or makes it; the waiter is called back as by Holds. */
  take(waiter: HoldWaiter): void {
    // In the turn in which the request was priced, so that both are by the same sheet.
    this.pay(waiter, this.price(waiter.wantUnits))
      .then(
        // Payers of single requests have no credits.
        (heldAtMs) => waiter.onHeld(heldMoney(waiter.wantUnits, heldAtMs)),
        (error: unknown) => waiter.onHoldRefused(this.refusal(error)),
      )
      .catch((error: unknown) => {
        this.services.onFault(error)
        waiter.onCrashed(error)
      })
  }

  onSuccess(headers: HeaderList | undefined): HeaderList | undefined {
    if (this.receipt === undefined) return headers
    const kept: string[] = [...this.paidHeaders]
    for (let i = 0; headers !== undefined && i + 1 < headers.length; i += 2) {
      const [name = '', value = ''] = headers.slice(i, i + 2)
      if (name === COST_HEADER && PAID_IN_RECEIPT.has(this.endpoint)) continue
      kept.push(name, value)
    }
    return kept
  }

  onFailure(error: GatewayError): FailureAnswer | undefined {
    // A request that was paid is never asked to pay again, whatever status a provider answers with; it is refunded.
    if (this.receipt !== undefined) {
      const headers = this.credential.kind === 'x402' ? this.paidHeaders : []
      return { contentType: JSON_TYPE, body: errorBody(error, this.exchange.id), headers }
    }
    return error.status === 402 && this.asked !== undefined ? paymentRequired(error, this.asked) : undefined
  }

  /** @returns when the hold was taken, on Redis's clock */
  private async pay(waiter: Pick<HoldWaiter, 'requestId' | 'wantUnits' | 'holdMeta'>, priced: Priced): Promise<number> {
    const { limits, verifier } = this.services
    const terms = await this.services.terms.current()
    const meta = decodeHoldMeta(waiter.holdMeta)
    this.endpoint = meta.endpoint
    const asked = this.ask(terms, priced, waiter.requestId)
    this.asked = asked
    const agent = readAgent(this.exchange.head.agent, terms)
    const checked = this.check(terms, priced, asked.windowSeconds)
    if (checked === undefined) throw new GatewayError('x402')
    const verdict = await this.verify(checked, verifier)
    if (this.exchange.gone) throw new GatewayError('gateway_restarting')
    const units = creditOf(checked, priced.coinUsdUnits)
    const { payment, challenge } = checked
    const order = {
      requestId: waiter.requestId,
      protocol: checked.protocol,
      asset: checked.asset.id,
      amount: checked.amount.toString(),
      payer: checked.payer,
      units,
      holdUnits: waiter.wantUnits,
      ...meta,
      owner: this.services.owner,
      challengeId: challenge?.id ?? '',
      agent,
      ...(payment && { payment: paymentToMessage({ ...payment, signature: verdict?.signature ?? payment.signature }) }),
      contractDigest: verdict?.kind === 'contract' ? verdict.digest : '',
      transactionRaw: checked.transactionRaw,
      transactionHash: checked.transactionHash,
      minUnits: terms.minUnits,
      clientAddress: clientAddress(this.exchange, this.services.trustedProxies),
    }
    const reply = await this.settle(order, checked, limits.paymentTimeoutMs + limits.paymentMarginMs)
    this.receipt = {
      units,
      minUnits: terms.minUnits,
      asset: checked.asset.id,
      token: checked.asset.address,
      amount: checked.amount.toString(),
      network: networkOf(terms.chainId),
      payer: checked.payer,
      transaction: reply.transaction,
      agent,
    }
    this.paidHeaders = paidHeaders(this.receipt, checked.protocol, challenge?.id ?? '')
    return reply.heldAtMs
  }

  private price(units: number): Priced {
    const sheet = this.services.catalog.current?.sheet
    if (sheet === undefined) throw new Error('a request was priced without a price sheet')
    const { version, coinUsdUnits } = sheet
    const { bodySha256 } = this
    return { path: this.exchange.head.path, bodySha256, sheetVersion: version, coinUsdUnits, units }
  }

  private ask(terms: PaymentTerms, priced: Priced, requestId: string): PaymentDemand {
    const { host, acceptPayment } = this.exchange.head
    const base = ownAddress(this.services.publicUrl, host)
    // A payer who pays before the quote expires thus signs a validity that is long enough.
    const windowSeconds = Math.floor(this.services.limits.quoteWindowMs / 1_000) + terms.marginSeconds
    const realm = base.slice(base.indexOf('//') + 2)
    // A tool of the Model Context Protocol has its own address.
    const url = priced.path.startsWith('/') ? base + priced.path : priced.path
    return { terms, priced, url, realm, windowSeconds, acceptPayment, requestId }
  }

  private check(terms: PaymentTerms, priced: Priced, windowSeconds: number): CheckedPayment | undefined {
    const { credential } = this
    const bytesMax = this.services.limits.paymentHeaderBytesMax
    if (credential.kind === 'x402 v1') throw new GatewayError('payment_invalid', { message: VERSION_1 })
    if (credential.kind === 'x402') return checkX402(credential.header, terms, priced, windowSeconds, bytesMax)
    return credential.kind === 'mpp' ? checkMpp(credential.authorization, terms, priced, bytesMax) : undefined
  }

  /** @throws GatewayError payment_invalid, payments_busy */
  private async verify(
    { payment, challenge }: CheckedPayment,
    verifier: PaymentVerifier,
  ): Promise<Exclude<Verdict, { kind: 'refused' }> | undefined> {
    if (payment === undefined) return undefined
    const verdict = await verifier.verify(challenge === undefined ? { payment } : { payment, challenge })
    if (verdict.kind === 'refused') throw new GatewayError('payment_invalid', { message: REFUSALS[verdict.reason] })
    return verdict
  }

  /** Once control was asked, no answer means that the payment may be made; its hold is voided should it appear. */
  private async settle(
    order: sluice.MakePaymentRequest.$Properties,
    checked: CheckedPayment,
    timeoutMs: number,
  ): Promise<sluice.MakePaymentReply> {
    try {
      return await this.services.rpc.call('make_payment', order, timeoutMs)
    } catch (error) {
      if (error instanceof ControlUnavailable && error.unsent) {
        throw new GatewayError('payments_busy', { retryAfterSeconds: 1 })
      }
      if (error instanceof GatewayError && !(error instanceof ControlUnavailable)) throw refused(error, checked)
      throw new GatewayError('settlement_unconfirmed', { cause: LOST_ANSWER })
    }
  }

  private refusal(error: unknown): GatewayError {
    if (error instanceof GatewayError) return error
    this.services.onFault(error)
    return new GatewayError('internal_error')
  }
}

const VERSION_1 =
  'X-PAYMENT is of x402 version 1; sign a payment of version 2 for the quote in this answer, and send it as PAYMENT-SIGNATURE.'

const REFUSALS = {
  counterfactual: 'Signatures of wallets that are not deployed (ERC-6492) are not taken; deploy the wallet first.',
  malformed: 'The payment has no signature; sign it.',
  malleable: 'The signature has the higher of its two s values, which the token refuses; sign with the lower one.',
  challenge: 'The signed text does not name the challenge; sign for the challenge that you answer.',
} as const

/** The amount credited for a payment: the value of its tokens at the price of the quote. */
function creditOf({ asset, amount }: CheckedPayment, coinUsdUnits: number): number {
  return unitsOf(amount, asset.decimals, tokenUsdUnits(asset, coinUsdUnits))
}

/** Control's refusal of a payment, in the form that the payer sees. */
function refused(error: GatewayError, { protocol }: CheckedPayment): GatewayError {
  const { row, message, retryAfterSeconds } = error
  const retry = retryAfterSeconds === undefined ? {} : { retryAfterSeconds }
  // In MPP, a challenge that was paid is no longer valid.
  if (protocol === 'mpp' && row === 'authorization_used') return new GatewayError('mpp_invalid_challenge', retry)
  // Control may have taken the hold before its answer was lost; no request uses that hold.
  if (row === 'settlement_unconfirmed') return new GatewayError(row, { message, ...retry, cause: LOST_ANSWER })
  return error
}

/** The account of a request if its payment is valid; nothing is done in its name before that is verified. */
function claimedPayer(credential: PaymentCredential, bytesMax: number): Address {
  if (credential.kind === 'x402') return readPaymentHeader(credential.header, bytesMax)?.payment.from ?? NOBODY
  if (credential.kind === 'none' || credential.kind === 'x402 v1') return NOBODY
  const source = readCredential(credential.authorization, bytesMax)?.source ?? ''
  return parseAddress(sourceAccount(source)?.address) ?? NOBODY
}
