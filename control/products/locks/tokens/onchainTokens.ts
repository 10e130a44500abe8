import { formatTokens } from '../../../../contract/money/lockTokens.ts'
import { holdingAccount, lockOnchainAccount } from '../../../book/ledger/accounts.ts'
import { appendAdmissionEvent, lockAccounts } from '../../../book/ledger/appendAdmissionEvent.ts'
import { openHolding } from '../../../book/ledger/openHolding.ts'
import { openSystemAccounts } from '../../../book/ledger/openLedgerAccount.ts'
import { postTransfers } from '../../../book/ledger/postTransfers.ts'
import { GATEWAY, recordActivity } from '../../../runtime/activity/activity.ts'
import { locking } from '../../../runtime/db/lockOrder.ts'
import type { Client } from '../../../runtime/db/pool.ts'

/** Kinds of the transfers between holdings and the chain: withdrawn, returned because it is not minted, and redeemed. */
export const LOCK_WITHDRAWAL = 'lock_withdrawal'
export const LOCK_RETURNED = 'lock_returned'
export const LOCK_REDEEMED = 'lock_redeemed'

/** The parts of a series that tokens on the chain need. */
export interface OnchainSeries {
  readonly id: string
  readonly endsAtMs: number
  /** Units of a micro-token at the locked price. */
  readonly microUnits: number
  /** Whether its tokens still count, by the database's clock. */
  readonly isOpen: boolean
}

/** Locks a series until the end of the transaction, before any account is locked; undefined when there is none. */
export async function lockOnchainSeries(client: Client, id: string): Promise<OnchainSeries | undefined> {
  locking(client, 'series', () => [id])
  const locked = await client.query<OnchainSeries>(
    `SELECT id, ends_at_ms AS "endsAtMs", locked_price_units / 1000000 AS "microUnits",
       state IN ('open', 'broken') AND ends_at_ms > extract(epoch FROM clock_timestamp()) * 1000 AS "isOpen"
     FROM lock_series WHERE id = $1 FOR NO KEY UPDATE`,
    [id],
  )
  return locked.rows[0]
}

/** Opens the ledger account of a series' tokens on the chain, unless it is open. The series has to be locked. */
export async function openOnchainAccount(client: Client, seriesId: string): Promise<string> {
  const account = lockOnchainAccount(seriesId)
  await openSystemAccounts(client, [{ id: account, currency: 'usd', mayGoNegative: false }])
  return account
}

/** Units of a series that the book has on the chain; the series has to be locked. */
export async function onchainUnits(client: Client, seriesId: string): Promise<number> {
  const found = await client.query<{ balance: number }>('SELECT balance FROM ledger_accounts WHERE id = $1', [
    lockOnchainAccount(seriesId),
  ])
  return found.rows[0]?.balance ?? 0
}

/** Tokens that come back from the chain to a holding. */
export interface BackFromChain {
  readonly kind: typeof LOCK_RETURNED | typeof LOCK_REDEEMED
  readonly ref: string
  readonly accountId: string
  readonly units: number
  /** The type of the activity, what it is about, and more of its details. */
  readonly activity: { readonly type: string; readonly target: string; readonly details: Record<string, string> }
}

/** Moves tokens from the chain to a holding, in the book and for admission. @param series locked in this transaction */
export async function bookBack(client: Client, series: OnchainSeries, back: BackFromChain): Promise<void> {
  const { kind, ref, accountId, units, activity } = back
  await openHolding(client, series.id, accountId)
  await lockAccounts(client, [accountId])
  const [debit, credit] = [lockOnchainAccount(series.id), holdingAccount(series.id, accountId)]
  if ((await postTransfers(client, [{ kind, ref, debit, credit, units }])) !== 1) {
    throw new Error(`${kind} ${ref} was booked before`)
  }
  const grant = { id: series.id, expiresAtMs: series.endsAtMs, units }
  await appendAdmissionEvent(client, { accountId, coinDelta: 0, grant })
  const tokens = formatTokens(units / series.microUnits)
  const { type, target, details } = activity
  await recordActivity(client, GATEWAY, [
    { accountId, type, target, details: { series: series.id, tokens, ...details } },
  ])
}
