import type { Queryable } from '../../../runtime/db/pool.ts'

/** How much money is on its way on the chain. */
export interface OpenMoney {
  /** Payments whose transfer is in no block yet. */
  readonly paymentsSettling: number
  /** Payments that were made and whose requests are being served. */
  readonly paymentsServing: number
  readonly refundsSending: number
  /** Refunds that failed too often. */
  readonly refundsStuck: number
  readonly depositsSettling: number
  readonly withdrawalsSending: number
  /** Age of the oldest withdrawal that was not sent. */
  readonly withdrawalOldestSeconds: number
  /** Settlement batches that are not anchored, or not deep enough. */
  readonly settlementsPending: number
  /** Age of the oldest of these. */
  readonly settlementOldestSeconds: number
  readonly transactionsPending: number
  /** Age of the oldest transaction in no block. */
  readonly transactionOldestSeconds: number
  /** Transactions about which an operator has to decide. */
  readonly transactionsStuck: number
}

export const NO_OPEN_MONEY: OpenMoney = {
  paymentsSettling: 0,
  paymentsServing: 0,
  refundsSending: 0,
  refundsStuck: 0,
  depositsSettling: 0,
  withdrawalsSending: 0,
  withdrawalOldestSeconds: 0,
  settlementsPending: 0,
  settlementOldestSeconds: 0,
  transactionsPending: 0,
  transactionOldestSeconds: 0,
  transactionsStuck: 0,
}

interface Row {
  readonly payments_settling: number
  readonly payments_serving: number
  readonly refunds_sending: number
  readonly refunds_stuck: number
  readonly deposits_settling: number
  readonly withdrawals_sending: number
  readonly withdrawal_oldest: number
  readonly settlements_pending: number
  readonly settlement_oldest: number
  readonly transactions_pending: number
  readonly transaction_oldest: number
  readonly transactions_stuck: number
}

/** Batches, from the last one back, among which those are that may not be anchored. */
const BATCHES_OPEN_MAX = 100
const OLDEST = 'coalesce(extract(epoch FROM now() - min(created_at)), 0)::float8'

/** Counts money that is in transit; only open rows are read, by their indexes. @throws errors of PostgreSQL */
export async function countOpenMoney(db: Queryable): Promise<OpenMoney> {
  const found = await db.query<Row>(`
    SELECT p.*, r.*, d.*, w.*, s.*, t.*, (SELECT count(*) FROM chain_transactions WHERE state = 'stuck') AS transactions_stuck
    FROM
      (SELECT count(*) FILTER (WHERE state = 'settling') AS payments_settling,
         count(*) FILTER (WHERE state = 'paid') AS payments_serving
       FROM payments WHERE state IN ('settling', 'paid')) p,
      (SELECT (SELECT count(*) FROM refunds WHERE state = 'sending') AS refunds_sending,
         (SELECT count(*) FROM refunds WHERE state = 'stuck') AS refunds_stuck) r,
      (SELECT count(*) AS deposits_settling FROM deposits WHERE state = 'settling') d,
      (SELECT count(*) AS withdrawals_sending, ${OLDEST} AS withdrawal_oldest
       FROM withdrawals WHERE state = 'sending') w,
      (SELECT count(*) AS settlements_pending, ${OLDEST} AS settlement_oldest
       FROM (SELECT number, created_at FROM settlement_batches ORDER BY number DESC LIMIT ${BATCHES_OPEN_MAX}) b
       WHERE NOT EXISTS (SELECT FROM chain_transactions WHERE purpose = 'settlement' AND state = 'mined'
         AND split_part(ref, '#', 1) = b.number::text)) s,
      (SELECT count(*) AS transactions_pending, ${OLDEST} AS transaction_oldest
       FROM chain_transactions WHERE state = 'pending') t`)
  const row = found.rows[0]
  if (row === undefined) return NO_OPEN_MONEY
  return {
    paymentsSettling: row.payments_settling,
    paymentsServing: row.payments_serving,
    refundsSending: row.refunds_sending,
    refundsStuck: row.refunds_stuck,
    depositsSettling: row.deposits_settling,
    withdrawalsSending: row.withdrawals_sending,
    withdrawalOldestSeconds: row.withdrawal_oldest,
    settlementsPending: row.settlements_pending,
    settlementOldestSeconds: row.settlement_oldest,
    transactionsPending: row.transactions_pending,
    transactionOldestSeconds: row.transaction_oldest,
    transactionsStuck: row.transactions_stuck,
  }
}
