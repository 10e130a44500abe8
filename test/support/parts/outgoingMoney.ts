import type { Address } from '../../../contract/payments/address.ts'
import { payerAccountId } from '../../../contract/payments/payerAccount.ts'
import { newId } from '../../../contract/wire/ids.ts'
import { coinAccount, ESCROW_COIN, HOUSE, PAYMENTS_IN, VAULT } from '../../../control/book/ledger/accounts.ts'
import { appendAdmissionEvent, lockAccounts } from '../../../control/book/ledger/appendAdmissionEvent.ts'
import { openAccount } from '../../../control/book/ledger/openAccount.ts'
import { postTransfers } from '../../../control/book/ledger/postTransfers.ts'
import { insertPayout } from '../../../control/products/holders/rewards/payoutRow.ts'
import { insertWithdrawal } from '../../../control/products/payments/withdrawals/withdrawalRow.ts'
import { WITHDRAWAL } from '../../../control/products/payments/withdrawals/withdrawals.ts'
import { type Pool, withTransaction } from '../../../control/runtime/db/pool.ts'
import { newAccount } from './ledger.ts'

const UNITS = 2_000_000_000
const AMOUNT = 2_000_000n

/** Money that has to leave the treasury: the SQL of its state, and the purpose and id that its transactions name. */
export interface Outgoing {
  readonly purpose: 'withdrawal' | 'refund' | 'vault'
  readonly id: string
  readonly wallet: Address
  readonly state: string
}

/** Books a withdrawal as its endpoint does. @returns its id */
export async function bookWithdrawal(
  pool: Pool,
  withdrawal: Omit<Parameters<typeof insertWithdrawal>[1], 'id'>,
): Promise<string> {
  const id = newId('wdr')
  const { accountId, units, nanos } = withdrawal
  await withTransaction(pool, async (client) => {
    await lockAccounts(client, [accountId])
    await client.query(
      `INSERT INTO debits (id, account_id, key_id, units, taken_at_ms, voided) VALUES ($1, $2, '', $3, 0, false)`,
      [id, accountId, units],
    )
    const [debit, credit] = [coinAccount(accountId), ESCROW_COIN]
    await postTransfers(client, [{ kind: WITHDRAWAL, ref: id, debit, credit, units, coinNanos: nanos }])
    await appendAdmissionEvent(client, { accountId, coinDelta: -nanos })
    await insertWithdrawal(client, { ...withdrawal, id })
  })
  return id
}

/** Books a withdrawal of a new account. */
export async function orderWithdrawal(pool: Pool, token: Address, wallet: Address): Promise<Outgoing> {
  const accountId = await newAccount(pool, UNITS)
  const row = { accountId, wallet, asset: 'stablecoin', token, amount: AMOUNT, nanos: UNITS, units: UNITS } as const
  const id = await bookWithdrawal(pool, row)
  return { purpose: 'withdrawal', id, wallet, state: 'SELECT state FROM withdrawals WHERE id = $1' }
}

/** Books a payment that nobody served, so that all of it goes back. */
export async function orderRefund(pool: Pool, token: Address, payer: Address): Promise<Outgoing> {
  const id = newId('req')
  const accountId = payerAccountId(payer)
  await withTransaction(pool, async (client) => {
    await openAccount(client, accountId)
    const debit = PAYMENTS_IN
    await postTransfers(client, [{ kind: 'pay_in', ref: id, debit, credit: coinAccount(accountId), units: UNITS }])
    await client.query(
      `INSERT INTO payments (id, replay_key, protocol, payer, account_id, asset, token, amount, units, hold_units, owner, model,
         endpoint, sheet_version, streamed, serve_by_ms, state, back_units, back_amount, closed_at)
       VALUES ($1, $1, 'x402', $2, $3, 'stablecoin', $4, $5, $6, 0, '', '', 'chat', 1, false, 0, 'closed', $6, $5, now())`,
      [id, payer, accountId, token, AMOUNT.toString(), UNITS],
    )
  })
  const state = `SELECT coalesce(max(f.state), 'none') FROM payments p LEFT JOIN refunds f ON f.id = p.refund_id WHERE p.id = $1`
  return { purpose: 'refund', id, wallet: payer, state }
}

/** Books revenue of a period for the vault. */
export async function orderPayout(pool: Pool, token: Address, receiver: Address, number: number): Promise<Outgoing> {
  await withTransaction(pool, async (client) => {
    await client.query(
      `INSERT INTO revenue_periods (number, starts_at, ends_at, total_units, net_units, deficit_units, reward_units, reward_rest,
         vault_units, vault_rest, vault_bps, coin_usd_units, reward_nanos, vault_nanos, pool_nanos, earned_nanos, paid_nanos,
         credited_nanos, carried_nanos, holders, min_nanos, excluded)
       VALUES ($1, now(), now() + interval '1 second', 0, 0, 0, 0, 0, $2, 0, 0, 1000000000, 0, $2, 0, 0, 0, 0, 0, 0, 0, '{}')`,
      [number, UNITS],
    )
    const nanos = UNITS
    await postTransfers(client, [
      { kind: 'vault_share', ref: String(number), debit: HOUSE, credit: VAULT, units: UNITS, coinNanos: nanos },
    ])
    const worth = { nanos: BigInt(nanos), units: BigInt(UNITS) }
    await insertPayout(client, { purpose: 'vault', number, token, receiver, amount: AMOUNT, ...worth })
  })
  const state = `SELECT state FROM revenue_payouts WHERE purpose = 'vault' AND number = $1::bigint`
  return { purpose: 'vault', id: String(number), wallet: receiver, state }
}
