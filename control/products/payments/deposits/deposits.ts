import type { Logger } from 'pino'
import { GatewayError } from '../../../../contract/errors/errors.ts'
import type { Address } from '../../../../contract/payments/address.ts'
import { replayKey } from '../../../../contract/payments/signedPayment.ts'
import { verdictOf } from '../../../../contract/payments/verdict.ts'
import { newId } from '../../../../contract/wire/ids.ts'
import { OTHER_SUFFIX } from '../../../chain/chainLoss.ts'
import type { SenderParts } from '../../../chain/contractCall.ts'
import type { ContractWallets } from '../../../chain/contractSignature.ts'
import { eachApart } from '../../../chain/eachApart.ts'
import type { Fees } from '../../../chain/fees.ts'
import { type StoredTransaction, storeForeign, storeTransaction } from '../../../chain/outbox.ts'
import { settlementCall } from '../../../chain/settlementCall.ts'
import type { Signer } from '../../../chain/signer.ts'
import { simulatePayment } from '../../../chain/simulation.ts'
import { type Client, type Queryable, withTransaction } from '../../../runtime/db/pool.ts'
import { logEvent } from '../../../runtime/logEvents.ts'
import { Loop } from '../../../runtime/loop.ts'
import type { PaymentsLimits } from '../limits.ts'
import { type ForeignSettlement, findForeignSettlement, nonceOf } from '../x402/foreignSettlement.ts'
import { type DepositOrder, refuseAuthorization } from './depositOrder.ts'
import { type Deposit, depositOf, insertDeposit, unmovedDeposits } from './depositRow.ts'

export interface DepositsOptions extends SenderParts {
  readonly contracts: ContractWallets
  readonly relayers: readonly [Signer, ...Signer[]]
  readonly treasury: Address
  readonly log: Logger
  readonly limits: PaymentsLimits
}

/** A deposit that the chain would make. */
export interface CheckedDeposit {
  readonly order: DepositOrder
  readonly signer: Signer
  readonly gas: bigint
  readonly fees: Fees
}

/**
 * Gasless deposits: a linked wallet signs for a transfer of the stablecoin (EIP-3009), a relayer sends it, and it is
 * credited once it is as deep in the chain as every other deposit has to be.
 */
export class Deposits {
  private readonly options: DepositsOptions
  private readonly loop: Loop
  private next = 0

  constructor(options: DepositsOptions) {
    this.options = options
    this.loop = new Loop('gasless deposits', options.limits.depositCheckMs, options.log, (signal) => this.pass(signal))
  }

  stop(): Promise<void> {
    return this.loop.stop()
  }

  /**
   * Makes sure that the wallet has signed and that the chain would make the transfer now.
   * @throws GatewayError authorization_invalid, authorization_used (409), chain_unavailable; nothing was taken then
   */
  async check(order: DepositOrder): Promise<CheckedDeposit> {
    const { pool, chain, fees, relayers } = this.options
    // First, because a pending transaction is not reliably visible on the chain.
    await refuseKnown(pool, order.payment)
    const payment = { ...order.payment, signature: await this.provenSignature(order) }
    const signer = relayers[this.next++ % relayers.length] ?? relayers[0]
    const [simulation, price] = await Promise.all([
      simulatePayment(chain, payment, signer.address, this.options.limits),
      fees.current(),
    ])
    if ('gas' in simulation) return { order: { ...order, payment }, signer, gas: simulation.gas, fees: price }
    switch (simulation.refusal) {
      case 'authorization_used':
        throw new GatewayError('authorization_used', { status: 409, param: 'authorization.nonce' })
      case 'insufficient_funds':
        throw refuseAuthorization('The wallet does not have this much of the token.', 'authorization.value')
      default:
        throw refuseAuthorization('The token does not take this authorization.', 'authorization')
    }
  }

  /** The signature as the token takes it. */
  private async provenSignature({ payment }: DepositOrder): Promise<`0x${string}`> {
    const verdict = verdictOf({ payment })
    if (verdict.kind === 'signed') return verdict.signature
    const { contracts } = this.options
    const isSigned =
      verdict.kind === 'contract' && (await contracts.hasSigned(payment.from, verdict.digest, verdict.signature))
    if (isSigned) return verdict.signature
    throw refuseAuthorization('The authorization is not signed by its wallet.', 'signature')
  }

  /**
   * Stores a deposit with its transaction, inside the caller's transaction; after the commit `send` sends it.
   * @param accountId of the owner of the wallet
   * @throws GatewayError authorization_used (409), payment_in_flight; roll back then
   */
  async store(
    client: Client,
    accountId: string,
    { order, signer, gas, fees }: CheckedDeposit,
  ): Promise<{ deposit: Deposit; transaction: StoredTransaction }> {
    const { chainId } = this.options
    const { payment, asset, nanos, units } = order
    const { from, to, token, value: amount } = payment
    const id = newId('dep')
    const row = { id, accountId, wallet: from, asset: asset.id, token, amount, nanos, units }
    await refuseKnown(client, payment)
    await insertDeposit(client, { ...row, replayKey: replayKey(payment), source: 'authorization', state: 'settling' })
    const transfer = { token, from, to, amount }
    const call = settlementCall(payment)
    const sent = { purpose: 'deposit', ref: id, chainId, ...call, gas, fees, transfer } as const
    const transaction = await storeTransaction(client, signer, sent)
    const deposit = await depositOf(client, accountId, id)
    if (deposit === undefined) throw new Error(`deposit ${id} is not there`)
    return { deposit, transaction }
  }

  /** Sends a stored deposit without waiting for its block. */
  async send(transaction: StoredTransaction): Promise<void> {
    await this.options.watcher.send(transaction, 0)
  }

  private async pass(signal: AbortSignal): Promise<void> {
    const unmoved = await unmovedDeposits(this.options.pool, this.options.limits.depositCheckMax)
    await eachApart(unmoved, signal, (deposit) => this.resolve(deposit))
  }

  /** Its own transaction made no transfer: another sender may have submitted the authorization first, or it has failed. */
  private async resolve({ id, replayKey: key, wallet, token, amount }: Deposit): Promise<void> {
    const { pool, chain, treasury, log } = this.options
    const transfer = { token, from: wallet, to: treasury, amount }
    const nonce = nonceOf(key)
    const tried = await pool.query<{ block: number; since: number | null }>(
      `SELECT coalesce(max(block_number), 0) AS block, min(nullif(since_block, 0)) AS since
       FROM chain_transactions WHERE purpose = 'deposit' AND ref = $1`,
      [id],
    )
    const { block: seenBlock = 0, since: sinceBlock = null } = tried.rows[0] ?? {}
    const foreign = await findForeignSettlement(
      pool,
      chain,
      { transfer, nonce, seenBlock, sinceBlock },
      this.options.limits,
    )
    const other = { purpose: 'deposit', ref: `${id}${OTHER_SUFFIX}`, transfer } as const
    const isOther = foreign !== undefined && (await this.storeOther(other, foreign))
    if (isOther) return
    await pool.query(`UPDATE deposits SET state = 'failed' WHERE id = $1 AND state = 'settling'`, [id])
    logEvent(log, 'deposit_transfer_missing', { deposit: id, wallet })
  }

  /** @returns false when the scan of transfers has counted it as a deposit already */
  private async storeOther(order: Parameters<typeof storeForeign>[1], foreign: ForeignSettlement): Promise<boolean> {
    const { pool, watcher } = this.options
    try {
      const id = await withTransaction(pool, (client) => storeForeign(client, order, foreign))
      await watcher.wait(id, 0)
      return true
    } catch (error) {
      if (error instanceof GatewayError && error.row === 'authorization_used') return false
      throw error
    }
  }
}

/** @throws GatewayError authorization_used (409) when the book knows the authorization, of a deposit or of a payment */
async function refuseKnown(db: Queryable, payment: DepositOrder['payment']): Promise<void> {
  const known = await db.query(
    'SELECT FROM payments WHERE replay_key = $1 UNION ALL SELECT FROM deposits WHERE replay_key = $1',
    [replayKey(payment)],
  )
  if (known.rowCount === 0) return
  throw new GatewayError('authorization_used', { status: 409, param: 'authorization.nonce' })
}
