import { GatewayError } from '../../../../contract/errors/errors.ts'
import type { Address } from '../../../../contract/payments/address.ts'
import type { Redis } from '../../../../contract/wire/redis.ts'
import type { SenderParts } from '../../../chain/contractCall.ts'
import type { ContractWallets } from '../../../chain/contractSignature.ts'
import type { Signer } from '../../../chain/signer.ts'
import { refusalError, simulatePayment } from '../../../chain/simulation.ts'
import type { PaymentsLimits } from '../limits.ts'
import { checkAgent } from './agents.ts'
import type { Sending } from './claim.ts'
import { findForeignSettlement, nonceOf } from './foreignSettlement.ts'
import { checkFunds } from './payerFunds.ts'
import { checkSent, checkSigned, type PayerTransaction } from './payerTransaction.ts'
import type { PaymentOrder } from './paymentOrder.ts'
import { rememberRefused } from './refusals.ts'

export interface PreparationParts extends Omit<SenderParts, 'watcher'> {
  readonly redis: Redis
  readonly contracts: ContractWallets
  readonly relayers: readonly Signer[]
  /** Of the ERC-8004 agents that requests may name. */
  readonly agentRegistry: Address | null
  readonly limits: PaymentsLimits
}

/** Finds out on the chain whether a payment can be made, before anything of it is stored or sent. */
export class Preparation {
  private readonly parts: PreparationParts
  private next = 0

  constructor(parts: PreparationParts) {
    this.parts = parts
  }

  /**
   * Proves the payer, unless a key's signature has proven it before.
   * @returns the payer's own transaction when it pays by one
   * @throws GatewayError payment_invalid, chain_unavailable
   */
  async prove(order: PaymentOrder): Promise<PayerTransaction | undefined> {
    const { chain, chainId, contracts } = this.parts
    const { payment, contractDigest, transaction, transfer } = order
    if (transaction !== undefined) {
      const { hash, raw } = transaction
      return raw === undefined ? checkSent(chain, hash, transfer) : checkSigned(raw, chainId, transfer)
    }
    if (payment === undefined || contractDigest === undefined) return undefined
    if (await contracts.hasSigned(payment.from, contractDigest, payment.signature)) return undefined
    throw new GatewayError('payment_invalid')
  }

  /**
   * Finds out how to make a payment, or that another sender has made it.
   * @param own as proven
   * @throws GatewayError with one of the codes for payments
   */
  async prepare(order: PaymentOrder, own: PayerTransaction | undefined): Promise<Sending> {
    const [sending] = await Promise.all([
      own === undefined ? this.prepareSigned(order) : this.prepareOwn(order, own),
      this.checkAgent(order),
    ])
    return sending
  }

  private async prepareOwn(order: PaymentOrder, own: PayerTransaction): Promise<Sending> {
    const { chain, fees } = this.parts
    try {
      await checkFunds(chain, fees, own, order.transfer, this.parts.limits)
    } catch (error) {
      if (error instanceof GatewayError && error.row === 'insufficient_funds') await this.remember(order)
      throw error
    }
    return { by: 'other', hash: own.hash, raw: own.raw }
  }

  private async prepareSigned(order: PaymentOrder): Promise<Sending> {
    const { pool, chain, chainId, fees } = this.parts
    const { payment } = order
    if (payment === undefined) throw new Error('a payment is signed or a transaction')
    const signer = this.signerFor(order)
    const [simulation, price] = await Promise.all([
      simulatePayment(chain, payment, signer.address, this.parts.limits),
      fees.current(),
    ])
    if ('gas' in simulation) return { by: 'gateway', signer, chainId, gas: simulation.gas, fees: price }
    const { refusal } = simulation
    if (refusal === 'authorization_used') {
      const nonce = nonceOf(order.replayKey)
      const foreign = await findForeignSettlement(
        pool,
        chain,
        { transfer: order.transfer, nonce, seenBlock: simulation.block, sinceBlock: null },
        this.parts.limits,
      )
      if (foreign !== undefined) return { by: 'other', ...foreign, raw: undefined }
    }
    if (refusal === 'insufficient_funds' || refusal === 'allowance_required') await this.remember(order)
    throw refusalError(refusal, this.parts.limits)
  }

  private async checkAgent({ agent, payer }: PaymentOrder): Promise<void> {
    const { chain, agentRegistry } = this.parts
    if (agent === '') return
    if (agentRegistry === null) throw new GatewayError('agent_identity_invalid')
    await checkAgent(chain, agentRegistry, BigInt(agent), payer)
  }

  private remember({ transfer, payer }: PaymentOrder): Promise<void> {
    return rememberRefused(this.parts.redis, transfer.token, payer, this.parts.limits)
  }

  /** MPP payments through Permit2 name their sender; the others are distributed over all signers. */
  private signerFor({ payment }: PaymentOrder): Signer {
    const { relayers } = this.parts
    const named = payment?.method === 'mpp-permit2' ? payment.spender : undefined
    const found = relayers.find(({ address }) => address === named) ?? relayers[this.next++ % relayers.length]
    if (found === undefined) throw new Error('there is no key to send payments with')
    return found
  }
}
