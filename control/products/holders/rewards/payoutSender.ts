import type { Logger } from 'pino'
import { attemptRef, subjectOf } from '../../../chain/attemptRef.ts'
import type { ChainClient } from '../../../chain/chainClient.ts'
import { readChain } from '../../../chain/chainClient.ts'
import { type CallParts, sendCall } from '../../../chain/contractCall.ts'
import type { OutcomeHandler } from '../../../chain/recorder.ts'
import { sendFromTreasury, type TreasuryParts } from '../../../chain/treasuryTransfer.ts'
import { logEvent } from '../../../runtime/logEvents.ts'
import { lastReading } from '../../reserve/readingStore.ts'
import { withdrawalGate } from '../../reserve/withdrawalGate.ts'
import type { HoldersLimits } from '../limits.ts'
import { hasPublished, publishCall } from './distributorContract.ts'
import { type DuePayout, duePayout, dueRoot, movePayout, type PayoutPurpose, takePayout } from './payoutRow.ts'

export interface PayoutSenderOptions extends TreasuryParts {
  readonly limits: HoldersLimits
  /** Publishes the roots. */
  readonly publisher: CallParts['sender']
  readonly log: Logger
}

/**
 * Sends the payouts of periods: the coin by a transfer of the treasury, and then the root of the rewards, which the distributor
 * accepts when it has the coin. A failed payout is resent only when none of its earlier transactions can succeed any more.
 */
export class PayoutSender {
  private readonly options: PayoutSenderOptions
  /** By kind of payout, the moment of performance.now() before which a refused one is not retried. */
  private readonly restsUntilMs = new Map<string, number>()

  constructor(options: PayoutSenderOptions) {
    this.options = options
  }

  /** Sends the due payouts, one of a kind. Calls must not run concurrently. @throws GatewayError chain_unavailable */
  async sendDue(): Promise<void> {
    for (const purpose of ['reward', 'vault'] as const) {
      if (!this.isResting(purpose)) await this.sendCoin(purpose)
    }
    if (!this.isResting('root')) await this.publish()
  }

  private async sendCoin(purpose: PayoutPurpose): Promise<void> {
    const due = await duePayout(this.options.pool, purpose, this.options.limits)
    if (due === undefined) return
    if (await this.isShort()) {
      this.rest(purpose)
      logEvent(this.options.log, 'revenue_share_waits', { period: due.number, purpose, amount: due.amount.toString() })
      return
    }
    const { token, receiver: to, amount } = due
    const isAllowed = await sendFromTreasury(this.options, { purpose, token, to, amount }, (client) =>
      takePayout(client, due),
    )
    if (!isAllowed) this.refused(due)
  }

  /** Customers come first: while they cannot withdraw because the reserve is short, no revenue leaves the treasury. */
  private async isShort(): Promise<boolean> {
    const { pool, limits } = this.options
    return withdrawalGate(await lastReading(pool), limits) === 'short'
  }

  private refused({ purpose, number, token, amount }: DuePayout): void {
    this.rest(purpose)
    const shown = { period: number, purpose, token, amount: amount.toString() }
    logEvent(this.options.log, 'revenue_share_refused', shown)
  }

  private async publish(): Promise<void> {
    const { pool, chain, chainId, publisher: sender, fees, watcher, limits, log } = this.options
    const due = await dueRoot(pool)
    if (due === undefined) return
    const { number, contract, root, amount, attempts } = due
    const parts = { pool, chain, chainId, sender, fees, watcher, limits }
    const isTaken =
      (await hasCode(chain, contract)) &&
      (await sendCall(
        parts,
        'reward_root',
        attemptRef(number, attempts + 1),
        publishCall(contract, number, root, amount),
      ))
    // A transaction that reverted would revert again if it were resent immediately.
    if (!isTaken || attempts > 0) this.rest('root')
    if (!isTaken) {
      logEvent(log, 'reward_root_rejected', { period: number, contract })
    }
  }

  private isResting(what: string): boolean {
    return performance.now() < (this.restsUntilMs.get(what) ?? 0)
  }

  private rest(what: string): void {
    this.restsUntilMs.set(what, performance.now() + this.options.limits.revenueRefusedMs)
  }
}

async function hasCode(chain: ChainClient, address: `0x${string}`): Promise<boolean> {
  return (await readChain(() => chain.getCode({ address }))) !== undefined
}

/** Books the outcomes of the transfers of coin. */
export const payoutOutcome = (purpose: PayoutPurpose): OutcomeHandler => ({
  depth: 'depositConfirmations',
  mined: (client, ref) => movePayout(client, purpose, ref, 'sent'),
  unmade: (client, ref) => movePayout(client, purpose, ref, 'sending'),
})

/** Roots are published or not as their transactions are; nothing else of the book follows from it. */
export const rootOutcome: OutcomeHandler = {
  depth: 'depositConfirmations',
  mined: async () => {},
  unmade: async () => {},
  isMade: (receipt, { target, ref }) => hasPublished(receipt, target, Number(subjectOf(ref))),
}
