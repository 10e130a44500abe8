import { valueOfCoin } from '../../../contract/money/coin.ts'
import { UNITS_PER_USD } from '../../../contract/money/units.ts'
import { textArray } from '../../runtime/db/arrays.ts'
import type { Client } from '../../runtime/db/pool.ts'
import { holdingAccount, LOCK_OPERATOR, lockIssuedAccount, lockUnearnedAccount, REVENUE } from '../ledger/accounts.ts'
import { postTransfers, type Transfer } from '../ledger/postTransfers.ts'
import { BURN } from './charges.ts'

/** The tokens of one series that a batch burnt. */
interface Burnt {
  /** Names the transfer: the first of the requests. */
  readonly ref: string
  units: number
}

/**
 * Moves the proceeds of burnt tokens from the unearned coin to the revenue of the gateway, once a series: in proportion to the
 * tokens that are still with customers, rounded down.
 * @param transfers of the batch, posted in the same transaction
 */
export async function earnBurnt(client: Client, transfers: readonly Transfer[]): Promise<void> {
  const burnt = burntBySeries(transfers)
  if (burnt.size === 0) return
  const balances = await lockedBalances(client, [...burnt.keys()])
  const price = await coinPrice(client)
  const earned = [...burnt].flatMap(([issued, { ref, units }]): Transfer[] => {
    const seriesId = issued.slice(ISSUED.length)
    const unearned = balances.get(lockUnearnedAccount(seriesId)) ?? 0
    const left = -(balances.get(issued) ?? 0) - (balances.get(holdingAccount(seriesId, LOCK_OPERATOR)) ?? 0)
    const coinNanos = Number((BigInt(unearned) * BigInt(units)) / BigInt(Math.max(left, 0) + units))
    if (coinNanos === 0) return []
    const value = valueOfCoin(coinNanos, price)
    return [{ kind: 'earn', ref, debit: lockUnearnedAccount(seriesId), credit: REVENUE, units: value, coinNanos }]
  })
  await postTransfers(client, earned)
}

const ISSUED = lockIssuedAccount('')

function burntBySeries(transfers: readonly Transfer[]): Map<string, Burnt> {
  const burnt = new Map<string, Burnt>()
  for (const { kind, ref, credit, units } of transfers) {
    if (kind !== BURN || !credit.startsWith(ISSUED)) continue
    const known = burnt.get(credit)
    if (known === undefined) burnt.set(credit, { ref, units })
    else known.units += units
  }
  return burnt
}

async function lockedBalances(client: Client, issued: readonly string[]): Promise<Map<string, number>> {
  const series = issued.map((id) => id.slice(ISSUED.length))
  const ids = [
    ...issued,
    ...series.map(lockUnearnedAccount),
    ...series.map((seriesId) => holdingAccount(seriesId, LOCK_OPERATOR)),
  ]
  const found = await client.query<{ id: string; balance: number }>({
    name: 'settlement_unearned',
    text: 'SELECT id, balance FROM ledger_accounts WHERE id = ANY ($1::text[]) ORDER BY id FOR NO KEY UPDATE',
    values: [textArray(ids)],
  })
  return new Map(found.rows.map((row) => [row.id, row.balance]))
}

/** Units in one coin, by the price sheet in force. */
async function coinPrice(client: Client): Promise<number> {
  const found = await client.query<{ units: number }>({
    name: 'settlement_coin_price',
    text: `SELECT ((sheet::jsonb #>> '{coin,usd}')::numeric * $1)::bigint AS units
           FROM price_sheets ORDER BY version DESC LIMIT 1`,
    values: [UNITS_PER_USD],
  })
  return found.rows[0]?.units ?? UNITS_PER_USD
}
