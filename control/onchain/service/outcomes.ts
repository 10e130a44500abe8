import type { OutcomeHandlers } from '../chain/recorder.ts'
import type { WatcherOptions } from '../chain/watcher.ts'
import { depositOutcome } from '../deposits/depositOutcome.ts'
import { lockMintOutcome } from '../locktokens/lockMinter.ts'
import { paymentOutcome } from '../payments/paymentOutcome.ts'
import type { PaymentsConfig } from '../payments/paymentsConfig.ts'
import { refundOutcome } from '../refunds/refunds.ts'
import { payoutOutcome, rootOutcome } from '../rewards/payoutSender.ts'
import { settlementOutcome } from '../settlements/anchorKeeper.ts'
import { vestOutcome } from '../vault/vaultKeeper.ts'
import { withdrawalOutcome } from '../withdrawals/withdrawals.ts'

/** What the book does about transactions, by what they are for. */
export const OUTCOMES: OutcomeHandlers = {
  payment: paymentOutcome,
  refund: refundOutcome,
  deposit: depositOutcome,
  withdrawal: withdrawalOutcome,
  settlement: settlementOutcome,
  reward: payoutOutcome('reward'),
  reward_root: rootOutcome,
  vault: payoutOutcome('vault'),
  vault_vest: vestOutcome,
  lock_mint: lockMintOutcome,
}

/** How deep transactions have to be: what is served or sent at once is small; what is deposited may be withdrawn again. */
export function confirmationsOf(config: PaymentsConfig): WatcherOptions['confirmations'] {
  const { confirmations, depositConfirmations } = config
  return {
    payment: confirmations,
    refund: confirmations,
    deposit: depositConfirmations,
    withdrawal: confirmations,
    settlement: depositConfirmations,
    reward: depositConfirmations,
    reward_root: depositConfirmations,
    vault: depositConfirmations,
    vault_vest: depositConfirmations,
    lock_mint: depositConfirmations,
  }
}
