import { DAY_MS } from '../../../contract/api/time.ts'
import { GatewayError } from '../../../contract/errors/errors.ts'
import { formatUsd } from '../../../contract/money/units.ts'
import { lockAccount } from '../../book/ledger/accountRow.ts'
import type { Client, Queryable } from '../../runtime/db/pool.ts'
import type { IdentityLimits } from '../limits.ts'

/** Coin that an API key moves from an agent to an agent of another account. */
export interface KeyTransfer {
  /** Names the debit and its transfer in the ledger. */
  readonly debitId: string
  /** The owner of the agent that pays, whose cap counts. */
  readonly accountId: string
  readonly keyId: string
  readonly units: number
}

/** The amount that API keys have moved out of an account and its agents on one day (UTC), and its cap. */
export interface TransferDay {
  readonly capUnits: number
  readonly usedUnits: number
  readonly resetsAtMs: number
}

/** @param nowMs names the day, milliseconds since 1970 */
export async function transferDayOf(
  db: Queryable,
  accountId: string,
  nowMs: number,
  limits: IdentityLimits,
): Promise<TransferDay> {
  const day = Math.floor(nowMs / DAY_MS)
  const found = await db.query<{ cap: number | null; used: number | null }>(
    `SELECT (SELECT transfer_cap_units FROM account_settings WHERE account_id = $1) AS cap,
       (SELECT max(day_units) FROM key_transfers WHERE account_id = $1 AND day = $2) AS used`,
    [accountId, day],
  )
  const [row] = found.rows
  return {
    capUnits: row?.cap ?? limits.keyTransferUnitsPerDay,
    usedUnits: row?.used ?? 0,
    resetsAtMs: (day + 1) * DAY_MS,
  }
}

/**
 * Counts a transfer against the account's cap of the day, inside the transaction that moves the coin. The account's row is
 * locked, so that concurrent transfers are counted one after the other.
 * @throws GatewayError spend_limit_exceeded
 */
export async function countKeyTransfer(
  client: Client,
  transfer: KeyTransfer,
  nowMs: number,
  limits: IdentityLimits,
): Promise<void> {
  const { debitId, accountId, keyId, units } = transfer
  await lockAccount(client, accountId)
  const { capUnits, usedUnits, resetsAtMs } = await transferDayOf(client, accountId, nowMs, limits)
  const dayUnits = usedUnits + units
  if (dayUnits > capUnits) {
    const left = formatUsd(Math.max(0, capUnits - usedUnits))
    const message =
      `API keys may pay ${formatUsd(capUnits)} USD a day to other accounts, of which ${left} are left until ` +
      `${new Date(resetsAtMs).toISOString()}; pay with a session, or raise transfer_cap_day of the account with one.`
    throw new GatewayError('spend_limit_exceeded', { message, param: 'amount' })
  }
  await client.query(
    `INSERT INTO key_transfers (debit_id, account_id, key_id, day, units, day_units, cap_units)
     VALUES ($1, $2, $3, $4, $5, $6, $7)`,
    [debitId, accountId, keyId, Math.floor(nowMs / DAY_MS), units, dayUnits, capUnits],
  )
}
