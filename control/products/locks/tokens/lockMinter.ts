import type { Logger } from 'pino'
import type { Address } from '../../../../contract/payments/address.ts'
import { attemptRef, subjectOf } from '../../../chain/attemptRef.ts'
import { readChain } from '../../../chain/chainClient.ts'
import { type CallParts, sendCall } from '../../../chain/contractCall.ts'
import { cursorBehind, eachApart } from '../../../chain/eachApart.ts'
import type { OutcomeHandler } from '../../../chain/recorder.ts'
import { estimateGas } from '../../../chain/simulation.ts'
import { transactionOf } from '../../../chain/transactionRow.ts'
import { tryLock } from '../../../runtime/db/locks.ts'
import { withTransaction } from '../../../runtime/db/pool.ts'
import { logEvent } from '../../../runtime/logEvents.ts'
import { Loop } from '../../../runtime/loop.ts'
import type { LocksLimits } from '../limits.ts'
import { hasMinted, LOCK_TOKENS_ABI, mintCall, withdrawalKey } from './lockTokensContract.ts'
import {
  claimDueMint,
  type DueMint,
  displacedMints,
  dueMints,
  type LockWithdrawal,
  moveLockWithdrawal,
} from './lockWithdrawalRow.ts'
import { bookBack, LOCK_RETURNED, lockOnchainSeries } from './onchainTokens.ts'

export interface LockMinterOptions extends CallParts {
  readonly limits: LocksLimits
  readonly log: Logger
}

/**
 * Mints withdrawn tokens of compute locks by transactions of the treasury. One that failed is sent again only when nothing that
 * was sent before can be made, and the contract mints each withdrawal once. Tokens that are not minted go back to their holding.
 */
export class LockMinter {
  private readonly options: LockMinterOptions
  private readonly loop: Loop
  /** The withdrawal after which the next pass begins. */
  private after = ''
  /** Nothing is minted before this moment of performance.now(). */
  private restsUntilMs = 0

  constructor(options: LockMinterOptions) {
    // A receiver with code of its own is not given more gas than a mint is paid for.
    const limits = { ...options.limits, gasPerTransactionMax: options.limits.lockMintGasMax }
    this.options = { ...options, limits }
    this.loop = new Loop('lock withdrawals', options.limits.withdrawalCheckMs, options.log, (signal) =>
      this.pass(signal),
    )
  }

  wake(): void {
    this.loop.wake()
  }

  stop(): Promise<void> {
    return this.loop.stop()
  }

  private async pass(signal: AbortSignal): Promise<void> {
    const { pool, limits } = this.options
    if (performance.now() < this.restsUntilMs || (await dueMints(pool, 1, '')).length === 0) return
    await tryLock(pool, 'lockMints', async () => {
      // Read again: what another control sent a moment ago is due no more.
      const due = await dueMints(pool, limits.withdrawalBatchMax, this.after)
      this.after = cursorBehind(due, limits.withdrawalBatchMax, ({ id }) => id)
      await eachApart(due, signal, (one) => this.send(one))
    })
  }

  private async send(due: DueMint): Promise<void> {
    const { chain, sender, limits, log } = this.options
    const { id, contract, attempts } = due
    if (!(await this.canMint(contract))) {
      this.restsUntilMs = performance.now() + limits.lockMintRefusedMs
      logEvent(log, 'lock_mint_rejected', { contract, treasury: sender.address })
      return
    }
    const call = mintCall(due)
    const isTaken =
      attempts < limits.lockMintAttemptsMax &&
      (await sendCall(this.options, 'lock_mint', attemptRef(id, attempts + 1), call, async (client) => {
        if (!(await claimDueMint(client, id))) throw new Error(`withdrawal ${id} is sent or ended by another control`)
      }))
    if (isTaken) return
    // At one block: a mint in a later one would be refused as the second of its withdrawal.
    const blockNumber = await readChain(() => chain.getBlockNumber())
    if (await this.isMinted(due, blockNumber)) {
      await this.findMint(id)
      return
    }
    const gas = await estimateGas(chain, sender.address, call, limits, blockNumber)
    if (gas === undefined || attempts >= limits.lockMintAttemptsMax) await this.giveBack(due)
  }

  /** Whether a contract is one that the treasury mints in. */
  private async canMint(address: Address): Promise<boolean> {
    const { chain, sender } = this.options
    if ((await readChain(() => chain.getCode({ address }))) === undefined) return false
    const minter = await chain
      .readContract({ abi: LOCK_TOKENS_ABI, address, functionName: 'minter' })
      .catch(() => undefined)
    return minter?.toLowerCase() === sender.address
  }

  private isMinted({ id, contract: address }: LockWithdrawal, blockNumber: bigint): Promise<boolean> {
    const args = [withdrawalKey(id)] as const
    const { chain } = this.options
    return readChain(() =>
      chain.readContract({ abi: LOCK_TOKENS_ABI, address, functionName: 'isMinted', args, blockNumber }),
    )
  }

  /**
   * Finds the transaction that has minted a withdrawal among those that were given up; until the node shows it, the withdrawal
   * waits. A book that was restored from a backup has none: the withdrawal counts as sent.
   */
  private async findMint(id: string): Promise<void> {
    const { pool, watcher } = this.options
    const displaced = await displacedMints(pool, id)
    if (displaced.length === 0) await moveLockWithdrawal(pool, id, ['sending'], 'sent')
    for (const transactionId of displaced) {
      const row = await transactionOf(pool, transactionId)
      if (row !== undefined && (await watcher.receiptOf(row)) !== undefined) {
        await watcher.recorder.lookAgain(transactionId)
      }
    }
  }

  /** The wallet does not take the tokens, or their series has ended; then they are burnt with the rest of it. */
  private async giveBack({ id, seriesId, accountId, units, wallet }: LockWithdrawal): Promise<void> {
    const { pool, log } = this.options
    await withTransaction(pool, async (client) => {
      const series = await lockOnchainSeries(client, seriesId)
      if (series === undefined) throw new Error(`there is no series ${seriesId}`)
      if (!(await claimDueMint(client, id))) return
      await moveLockWithdrawal(client, id, ['sending'], series.isOpen ? 'returned' : 'expired')
      if (!series.isOpen) return
      const activity = { type: 'lock.withdrawal_returned', target: id, details: { wallet } }
      await bookBack(client, series, { kind: LOCK_RETURNED, ref: `${id}:returned`, accountId, units, activity })
    })
    logEvent(log, 'lock_withdrawal_refused', { withdrawal: id, series: seriesId, wallet })
  }
}

/** Withdrawals are sent or not as their transactions are; the book has their tokens on the chain in both states. */
export const lockMintOutcome: OutcomeHandler = {
  depth: 'depositConfirmations',
  mined: async (client, ref) => {
    await moveLockWithdrawal(client, subjectOf(ref), ['sending', 'expired'], 'sent')
  },
  unmade: async (client, ref) => {
    await moveLockWithdrawal(client, subjectOf(ref), ['sent'], 'sending')
  },
  isMade: (receipt, { target, ref }) => hasMinted(receipt, target, subjectOf(ref)),
}
