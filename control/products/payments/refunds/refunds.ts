import type { Logger } from 'pino'
import type { Address } from '../../../../contract/payments/address.ts'
import { payerAccountId } from '../../../../contract/payments/payerAccount.ts'
import { newId } from '../../../../contract/wire/ids.ts'
import { coinAccount, ESCROW, PAYMENTS_IN } from '../../../book/ledger/accounts.ts'
import { appendAdmissionEvent, lockAccounts } from '../../../book/ledger/appendAdmissionEvent.ts'
import { postTransfers } from '../../../book/ledger/postTransfers.ts'
import { attemptRef, subjectOf } from '../../../chain/attemptRef.ts'
import { cursorBehind, eachApart } from '../../../chain/eachApart.ts'
import type { OutcomeHandler } from '../../../chain/recorder.ts'
import { MAY_BE_MADE } from '../../../chain/transactionRow.ts'
import { sendFromTreasury, type TreasuryParts } from '../../../chain/treasuryTransfer.ts'
import { textArray } from '../../../runtime/db/arrays.ts'
import { locking } from '../../../runtime/db/lockOrder.ts'
import { tryLock } from '../../../runtime/db/locks.ts'
import type { Client, Pool } from '../../../runtime/db/pool.ts'
import { logEvent } from '../../../runtime/logEvents.ts'
import { Loop } from '../../../runtime/loop.ts'
import type { PaymentsLimits } from '../limits.ts'

/**
 * Kinds of the transfers that refunds are booked by: set aside, by payment; sent, and returned when the chain took that
 * back, by transaction.
 */
const REFUND = 'refund'
const REFUND_SENT = 'refund_sent'
const REFUND_RETURNED = 'refund_returned'

export interface RefunderOptions extends TreasuryParts {
  readonly log: Logger
  readonly limits: PaymentsLimits
}

interface DueRow {
  readonly payer: Address
  readonly token: Address
  readonly ids: string[]
  readonly amount: string
}

interface BackRow {
  readonly id: string
  readonly back_units: number
  readonly back_amount: string
}

/** Sends refunds to payers: each part of each payment is in one refund, and each refund is one transfer. */
export class Refunder {
  private readonly options: RefunderOptions
  private readonly loop: Loop
  /** Cursors of the next pass: payer and token, and the refund, after which it begins. */
  private afterDue = ''
  private afterFailed = ''
  /** Payer and token of refunds that cannot be made now; a handful at worst, as each was a customer. */
  private readonly refusedUntil = new Map<string, number>()

  constructor(options: RefunderOptions) {
    this.options = options
    this.loop = new Loop('refunds', options.limits.refundCheckMs, options.log, (signal) => this.pass(signal))
  }

  wake(): void {
    this.loop.wake()
  }

  stop(): Promise<void> {
    return this.loop.stop()
  }

  private async pass(signal: AbortSignal): Promise<void> {
    const { pool } = this.options
    if (
      (await dueRefunds(pool, '', this.options.limits)).length === 0 &&
      (await failedRefunds(pool, '', this.options.limits)).length === 0
    )
      return
    await tryLock(pool, 'refunds', async () => {
      // Read again: another control may have sent some of them a moment ago.
      const due = await dueRefunds(pool, this.afterDue, this.options.limits)
      const failed = await failedRefunds(pool, this.afterFailed, this.options.limits)
      this.afterDue = cursorBehind(due, this.options.limits.refundBatchMax, ({ payer, token }) => payer + token)
      this.afterFailed = cursorBehind(failed, this.options.limits.refundBatchMax, (id) => id)
      const work = [
        ...due.filter((row) => !this.isRefused(row)).map((row) => () => this.refund(row)),
        ...failed.map((id) => () => this.sendAgain(id)),
      ]
      await eachApart(work, signal, (send) => send())
    })
  }

  private isRefused({ payer, token }: DueRow): boolean {
    return (this.refusedUntil.get(payer + token) ?? 0) > performance.now()
  }

  private async refund(due: DueRow): Promise<void> {
    const { payer, token } = due
    const transfer = { purpose: 'refund', token, to: payer, amount: BigInt(due.amount) } as const
    const isAllowed = await sendFromTreasury(this.options, transfer, async (client) => {
      const id = await setAside(client, due)
      return id === undefined ? undefined : attemptRef(id, 1)
    })
    if (isAllowed) return
    // A token may refuse single wallets. The money stays set apart on the payer's account.
    this.refusedUntil.set(payer + token, performance.now() + this.options.limits.refundRefusedMs)
    logEvent(this.options.log, 'refund_refused', { payer, token, amount: due.amount })
  }

  /** Retries a reverted transfer once, as another transaction. */
  private async sendAgain(id: string): Promise<void> {
    const { pool, log } = this.options
    const found = await pool.query<{
      payer: Address
      token: Address
      amount: string
      attempts: number
      attempts_max: number
    }>(
      `SELECT payer, token, amount::text AS amount, attempts, coalesce(attempts_max, $2) AS attempts_max FROM refunds WHERE id = $1 AND state = 'sending'`,
      [id, this.options.limits.refundAttemptsMax],
    )
    const row = found.rows[0]
    if (row === undefined) return
    if (row.attempts >= row.attempts_max) {
      await pool.query(`UPDATE refunds SET state = 'stuck' WHERE id = $1 AND state = 'sending'`, [id])
      logEvent(log, 'refund_abandoned', { refund: id, payer: row.payer })
      return
    }
    const { payer, token } = row
    const transfer = { purpose: 'refund', token, to: payer, amount: BigInt(row.amount) } as const
    await sendFromTreasury(this.options, transfer, async (client) => {
      locking(client, 'refunds', () => [id])
      const taken = await client.query(
        `UPDATE refunds SET attempts = attempts + 1 WHERE id = $1 AND attempts = $2 AND state = 'sending'`,
        [id, row.attempts],
      )
      return taken.rowCount === 0 ? undefined : attemptRef(id, row.attempts + 1)
    })
  }
}

/**
 * Refunds whose newest transaction can no longer make the transfer. A transaction that failed in a block that may still be
 * taken back does not count: it might succeed in another block.
 */
async function failedRefunds(pool: Pool, after: string, limits: PaymentsLimits): Promise<string[]> {
  const found = await pool.query<{ id: string }>(
    `SELECT id FROM refunds r WHERE state = 'sending' AND NOT EXISTS (
       SELECT FROM chain_transactions t WHERE t.purpose = 'refund' AND t.subject_id = r.id AND t.attempt = r.attempts
         AND ${MAY_BE_MADE})
     ORDER BY id > $2 DESC, id LIMIT $1`,
    [limits.refundBatchMax, after],
  )
  return found.rows.map((row) => row.id)
}

/** The refunds due for closed payments, by payer and token. */
async function dueRefunds(pool: Pool, after: string, limits: PaymentsLimits): Promise<DueRow[]> {
  const found = await pool.query<DueRow>(
    `SELECT payer, token, (array_agg(id ORDER BY id))[1:$1] AS ids,
       (SELECT sum(back) FROM unnest((array_agg(back_amount ORDER BY id))[1:$1]) AS back)::text AS amount
     FROM payments WHERE state = 'closed' AND refund_id IS NULL AND back_amount > 0
     GROUP BY payer, token ORDER BY payer || token > $3 DESC, payer || token LIMIT $2`,
    [limits.refundPaymentsMax, limits.refundBatchMax, after],
  )
  return found.rows
}

/**
 * Sets the amount of a refund aside in the book, inside the caller's transaction. Each payment is in one refund.
 * @returns the id of the refund; undefined when the amount has changed meanwhile
 */
async function setAside(client: Client, due: DueRow): Promise<string | undefined> {
  const accountId = payerAccountId(due.payer)
  const id = newId('rfd')
  locking(client, 'payments', () => due.ids)
  const locked = await client.query<BackRow>(
    `SELECT id, back_units, back_amount::text AS back_amount FROM payments
     WHERE id = ANY ($1::text[]) AND refund_id IS NULL FOR UPDATE`,
    [textArray(due.ids)],
  )
  const { rows } = locked
  const amount = rows.reduce((sum, row) => sum + BigInt(row.back_amount), 0n)
  if (amount.toString() !== due.amount) return undefined
  await lockAccounts(client, [accountId])
  const units = rows.reduce((sum, row) => sum + row.back_units, 0)
  await client.query(
    'INSERT INTO refunds (id, payer, account_id, token, amount, units) VALUES ($1, $2, $3, $4, $5, $6)',
    [id, due.payer, accountId, due.token, amount.toString(), units],
  )
  await client.query('UPDATE payments SET refund_id = $2 WHERE id = ANY ($1::text[])', [textArray(due.ids), id])
  const debit = coinAccount(accountId)
  await postTransfers(
    client,
    rows.map((row) => ({ kind: REFUND, ref: row.id, debit, credit: ESCROW, units: row.back_units })),
  )
  await appendAdmissionEvent(client, { accountId, coinDelta: -units })
  return id
}

/** Books the outcomes of the transactions of refunds. */
export const refundOutcome: OutcomeHandler = {
  depth: 'confirmations',
  async mined(client, ref) {
    const moved = await changeState(client, ref, 'sending', 'sent')
    if (moved === undefined) return
    await postTransfers(client, [{ kind: REFUND_SENT, debit: ESCROW, credit: PAYMENTS_IN, ...moved }])
  },
  // The next pass sends it again, as another transaction.
  async unmade(client, ref) {
    const moved = await changeState(client, ref, 'sent', 'sending')
    if (moved === undefined) return
    await postTransfers(client, [{ kind: REFUND_RETURNED, debit: PAYMENTS_IN, credit: ESCROW, ...moved }])
  },
}

/**
 * Follows the chain, which may take a transaction back and make it again, more than once.
 * @returns the units of the refund, and a name for the transfer that books this change, when it was in the state that it
 *   is changed from
 */
async function changeState(
  client: Client,
  ref: string,
  from: string,
  to: string,
): Promise<{ units: number; ref: string } | undefined> {
  const id = subjectOf(ref)
  locking(client, 'refunds', () => [id])
  const changed = await client.query<{ units: number }>(
    'UPDATE refunds SET state = $3 WHERE id = $1 AND state = $2 RETURNING units',
    [id, from, to],
  )
  const row = changed.rows[0]
  if (row === undefined) return undefined
  const returned = await client.query<{ times: number }>(
    `SELECT count(*) AS times FROM transfers WHERE ref BETWEEN $1 AND $1 || ':~' AND kind = $2`,
    [ref, REFUND_RETURNED],
  )
  const times = returned.rows[0]?.times ?? 0
  return { units: row.units, ref: times === 0 ? ref : `${ref}:${times}` }
}
