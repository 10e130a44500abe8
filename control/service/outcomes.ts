import type { PaymentsConfig } from '../chain/paymentsConfig.ts'
import type { OutcomeHandlers } from '../chain/recorder.ts'
import type { WatcherOptions } from '../chain/watcher.ts'
import { payoutOutcome, rootOutcome } from '../products/holders/rewards/payoutSender.ts'
import { vestOutcome } from '../products/holders/vault/vaultKeeper.ts'
import { lockMintOutcome } from '../products/locks/tokens/lockMinter.ts'
import { depositOutcome } from '../products/payments/deposits/depositOutcome.ts'
import { refundOutcome } from '../products/payments/refunds/refunds.ts'
import { withdrawalOutcome } from '../products/payments/withdrawals/withdrawals.ts'
import { paymentOutcome } from '../products/payments/x402/paymentOutcome.ts'
import { settlementOutcome } from '../products/settlements/anchorKeeper.ts'

/** The handlers that book the outcome of transactions, by purpose. */
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

/** Blocks that transactions have to be deep. Payments for requests are small; deposits are larger and can be withdrawn again. */
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
