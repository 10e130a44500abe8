import type { Logger } from 'pino'
import { ESCROW_COIN, PAYMENTS_IN } from '../../../book/ledger/accounts.ts'
import { creditCoin } from '../../../book/ledger/creditCoin.ts'
import { postTransfers } from '../../../book/ledger/postTransfers.ts'
import { attemptRef, subjectOf } from '../../../chain/attemptRef.ts'
import { readChain } from '../../../chain/chainClient.ts'
import { cursorBehind, eachApart } from '../../../chain/eachApart.ts'
import type { OutcomeHandler } from '../../../chain/recorder.ts'
import { PAYMENT_ABI, transferCall } from '../../../chain/settlementCall.ts'
import { estimateGas } from '../../../chain/simulation.ts'
import { sendFromTreasury, type TreasuryParts } from '../../../chain/treasuryTransfer.ts'
import { locking } from '../../../runtime/db/lockOrder.ts'
import { tryLock } from '../../../runtime/db/locks.ts'
import { type Client, withTransaction } from '../../../runtime/db/pool.ts'
import { logEvent } from '../../../runtime/logEvents.ts'
import { Loop } from '../../../runtime/loop.ts'
import type { PaymentsLimits } from '../limits.ts'
import {
  abandonedWithdrawals,
  dueWithdrawals,
  type MovedWithdrawal,
  moveWithdrawal,
  type Withdrawal,
} from './withdrawalRow.ts'

/**
 * Kinds of the transfers that withdrawals are booked by: set aside (by its id), sent, taken back by the chain, and
 * returned to the account because the token refuses the wallet.
 */
export const WITHDRAWAL = 'withdrawal'
const WITHDRAWAL_SENT = 'withdrawal_sent'
const WITHDRAWAL_UNSENT = 'withdrawal_unsent'
const WITHDRAWAL_RETURNED = 'withdrawal_returned'

export interface WithdrawerOptions extends TreasuryParts {
  readonly log: Logger
  readonly limits: PaymentsLimits
}

/**
 * Sends withdrawals of accounts, each by one transfer of the treasury. A failed withdrawal is resent only when none of its
 * earlier transactions can succeed any more, and not more often than limits.withdrawalAttemptsMax without an operator.
 */
export class Withdrawer {
  private readonly options: WithdrawerOptions
  private readonly loop: Loop
  /** The withdrawal after which the next pass begins. */
  private after = ''
  /** Abandoned withdrawals that the log has. */
  private reported: ReadonlySet<string> = new Set()

  constructor(options: WithdrawerOptions) {
    this.options = options
    this.loop = new Loop('withdrawals', options.limits.withdrawalCheckMs, options.log, (signal) => this.pass(signal))
  }

  wake(): void {
    this.loop.wake()
  }

  stop(): Promise<void> {
    return this.loop.stop()
  }

  private async pass(signal: AbortSignal): Promise<void> {
    const { pool, limits } = this.options
    await this.reportAbandoned()
    if ((await dueWithdrawals(pool, 1, '', limits)).length === 0) return
    await tryLock(pool, 'withdrawals', async () => {
      // Read again: another control may have sent some of them a moment ago.
      const due = await dueWithdrawals(pool, limits.withdrawalBatchMax, this.after, limits)
      this.after = cursorBehind(due, limits.withdrawalBatchMax, ({ id }) => id)
      await eachApart(due, signal, (withdrawal) => this.send(withdrawal))
    })
  }

  /** Each is reported once; no more are kept than are read. */
  private async reportAbandoned(): Promise<void> {
    const { pool, limits, log } = this.options
    const found = await abandonedWithdrawals(pool, limits)
    for (const id of found) if (!this.reported.has(id)) logEvent(log, 'withdrawal_abandoned', { withdrawal: id })
    this.reported = new Set(found)
  }

  private async send(withdrawal: Withdrawal): Promise<void> {
    const { id, wallet, token, amount } = withdrawal
    const attempt = withdrawal.attempts + 1
    const transfer = { purpose: 'withdrawal', token, to: wallet, amount } as const
    const isAllowed = await sendFromTreasury(this.options, transfer, async (client) => {
      locking(client, 'withdrawals', () => [id])
      const taken = await client.query(
        `UPDATE withdrawals SET attempts = $2 WHERE id = $1 AND attempts = $2 - 1 AND state = 'sending'`,
        [id, attempt],
      )
      return taken.rowCount === 0 ? undefined : attemptRef(id, attempt)
    })
    if (!isAllowed) await this.refused(withdrawal)
  }

  /**
   * The token refuses the transfer: because the treasury has too little, and then it waits, or because of the wallet. Both
   * are read at one block, or a treasury that is filled meanwhile would look like a refused wallet.
   */
  private async refused(withdrawal: Withdrawal): Promise<void> {
    const { chain, treasury, log } = this.options
    const { id, wallet, token, amount } = withdrawal
    const blockNumber = await readChain(() => chain.getBlockNumber())
    const read = { abi: PAYMENT_ABI, address: token, functionName: 'balanceOf', blockNumber } as const
    const has = await readChain(() => chain.readContract({ ...read, args: [treasury.address] }))
    if (has < amount) {
      logEvent(log, 'treasury_short', { withdrawal: id, token, amount: amount.toString(), has: has.toString() })
      return
    }
    const gas = await estimateGas(
      chain,
      treasury.address,
      transferCall(token, wallet, amount),
      this.options.limits,
      blockNumber,
    )
    if (gas === undefined) await this.return(withdrawal)
  }

  /** The token does not let this wallet have it, such as one that its issuer has blocked. */
  private async return({ id, wallet, token, attempts }: Withdrawal): Promise<void> {
    const { pool, log } = this.options
    await withTransaction(pool, async (client) => {
      const moved = await moveWithdrawal(client, id, 'sending', 'returned', attempts)
      if (moved === undefined) return
      const { accountId, nanos, units, moveRef: ref } = moved
      await creditCoin(client, { accountId, nanos, units, ref, kind: WITHDRAWAL_RETURNED, from: ESCROW_COIN })
    })
    logEvent(log, 'withdrawal_refused', { withdrawal: id, wallet, token })
  }
}

async function book(
  client: Client,
  { nanos, units, moveRef }: MovedWithdrawal,
  way: { readonly kind: string; readonly debit: string; readonly credit: string },
): Promise<void> {
  await postTransfers(client, [{ ...way, ref: moveRef, units, coinNanos: nanos }])
}

/** Books the outcomes of the transactions of withdrawals. */
export const withdrawalOutcome: OutcomeHandler = {
  depth: 'confirmations',
  async mined(client, ref) {
    const moved = await moveWithdrawal(client, subjectOf(ref), 'sending', 'sent')
    if (moved === undefined) return
    await book(client, moved, { kind: WITHDRAWAL_SENT, debit: ESCROW_COIN, credit: PAYMENTS_IN })
  },
  // The Withdrawer sends it again, as another transaction.
  async unmade(client, ref) {
    const moved = await moveWithdrawal(client, subjectOf(ref), 'sent', 'sending')
    if (moved === undefined) return
    await book(client, moved, { kind: WITHDRAWAL_UNSENT, debit: PAYMENTS_IN, credit: ESCROW_COIN })
  },
}
