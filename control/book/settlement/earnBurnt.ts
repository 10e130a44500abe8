import { valueOfCoinWide } from '../../../contract/money/coin.ts'
import { UNITS_PER_USD } from '../../../contract/money/units.ts'
import type { Client } from '../../runtime/db/pool.ts'
import { lockIssuedAccount, lockUnearnedAccount, REVENUE } from '../ledger/accounts.ts'
import { lockUnearned, soldUnits } from '../ledger/lockProceeds.ts'
import { postTransfers, type Transfer } from '../ledger/postTransfers.ts'
import { BURN } from './charges.ts'

/** The tokens of one series that a batch burnt. */
interface Burnt {
  /** Names the transfer: the first of the requests. */
  readonly ref: string
  units: bigint
}

const ISSUED = lockIssuedAccount('')

/** Whether a transfer burns tokens of a holding. */
export const isBurn = ({ kind, credit }: Pick<Transfer, 'kind' | 'credit'>): boolean =>
  kind === BURN && credit.startsWith(ISSUED)

/**
 * Moves the proceeds of burnt tokens from the unearned coin to the revenue of the gateway, once a series: in proportion to the
 * tokens that are still with customers, rounded down. Tokens that the operator offers are not with customers.
 * @param transfers of the batch, posted in the same transaction
 */
export async function earnBurnt(client: Client, transfers: readonly Transfer[]): Promise<void> {
  const burnt = burntBySeries(transfers)
  if (burnt.size === 0) return
  const unearned = await lockUnearned(client, [...burnt.keys()])
  // Asked for once the proceeds are locked: sales lock them last, so that none of them is counted in one place alone.
  const sold = await soldUnits(client, [...burnt.keys()])
  const price = await coinPrice(client)
  const earned = [...burnt].flatMap(([seriesId, { ref, units }]): Transfer<number | bigint>[] => {
    const left = sold.get(seriesId) ?? 0n
    const coinNanos = ((unearned.get(lockUnearnedAccount(seriesId)) ?? 0n) * units) / ((left > 0n ? left : 0n) + units)
    if (coinNanos === 0n) return []
    const value = valueOfCoinWide(coinNanos, price)
    return [{ kind: 'earn', ref, debit: lockUnearnedAccount(seriesId), credit: REVENUE, units: value, coinNanos }]
  })
  await postTransfers(client, earned)
}

/** By series. */
function burntBySeries(transfers: readonly Transfer[]): Map<string, Burnt> {
  const burnt = new Map<string, Burnt>()
  for (const { ref, credit, units } of transfers.filter(isBurn)) {
    const seriesId = credit.slice(ISSUED.length)
    const known = burnt.get(seriesId)
    if (known === undefined) burnt.set(seriesId, { ref, units: BigInt(units) })
    else known.units += BigInt(units)
  }
  return burnt
}

/** Units in one coin, by the price sheet in force. */
async function coinPrice(client: Client): Promise<number> {
  const found = await client.query<{ units: number }>({
    name: 'settlement_coin_price',
    text: 'SELECT units FROM coin_prices ORDER BY version DESC LIMIT 1',
  })
  return found.rows[0]?.units ?? UNITS_PER_USD
}
