import type { ReceiptStatus } from '../../../../contract/money/receiptStatus.ts'
import { isRefundedWhole, settlementFee } from '../../../../contract/money/settlementFee.ts'
import type { Address } from '../../../../contract/payments/address.ts'
import { tokenUsdUnits } from '../../../../contract/payments/conversion.ts'
import type { PaymentAsset } from '../../../../contract/payments/terms.ts'
import { coinAccount, payerCreditAccount, REVENUE } from '../../../book/ledger/accounts.ts'
import { appendAdmissionEvent, lockAccounts } from '../../../book/ledger/appendAdmissionEvent.ts'
import { postTransfers, type Transfer } from '../../../book/ledger/postTransfers.ts'
import { boolArray, intArray, textArray } from '../../../runtime/db/arrays.ts'
import { camelColumns } from '../../../runtime/db/columns.ts'
import { type Client, type Pool, withTransaction } from '../../../runtime/db/pool.ts'
import type { PaymentsLimits } from '../limits.ts'
import { CREDIT_KEPT, CREDIT_USED, creditsOf, openCredits } from './payerCredits.ts'
import { type Remainder, remainderOf, type TokenPrice } from './remainder.ts'

/** The kind of the transfer that tops a charge up to the smallest one. */
const SETTLEMENT_FEE = 'settlement_fee'

export interface CloseOptions {
  readonly pool: Pool
  /** The assets that payments are taken in now. */
  readonly assets: readonly PaymentAsset[]
  /** USD of one coin in units. */
  readonly coinUsdUnits: (client: Client) => Promise<number>
  /** The rest of a payment and the credit of its payer are refunded once together they reach this many units. */
  readonly refundMinUnits: number
  readonly limits: PaymentsLimits
}

interface EndedRow {
  readonly id: string
  readonly accountId: string
  readonly payer: Address
  readonly asset: string
  readonly token: Address
  readonly amount: string
  readonly units: number
  readonly minUnits: number
  readonly costUnits: number
  readonly status: ReceiptStatus
  readonly errorCode: string
}

interface Closed {
  readonly row: EndedRow
  /** The amount that raises the charge to the minimum charge. */
  readonly feeUnits: number
  readonly isVoided: boolean
  readonly remainder: Remainder
}

/**
 * Closes payments whose requests have ended, by their receipts, each in the transaction that also moves the credit of
 * its payer.
 * @returns how many
 */
export async function closeEnded(options: CloseOptions): Promise<number> {
  return withTransaction(options.pool, async (client) => {
    const found = await client.query<EndedRow>(
      `SELECT ${camelColumns('p.id, p.account_id, p.payer, p.asset, p.token, p.units, p.min_units, r.status, r.error_code')},
         p.amount::text AS amount, r.charge_units AS "costUnits"
       FROM payments p JOIN receipts r ON r.request_id = p.id
       WHERE p.state = 'paid' ORDER BY p.id LIMIT $1 FOR UPDATE OF p SKIP LOCKED`,
      [options.limits.paymentCloseMax],
    )
    const { rows } = found
    if (rows.length === 0) return 0
    // Payments of one payer are closed one after the other, so that each of them finds the credit that the last one left.
    const accountIds = [...new Set(rows.map((row) => row.accountId))]
    await lockAccounts(client, accountIds)
    const closed = await remaindersOf(client, rows, options)
    await storeClosed(client, closed)
    await openCredits(
      client,
      closed.filter(({ remainder }) => remainder.keptUnits > 0).map(({ row }) => row),
    )
    await postTransfers(client, closed.flatMap(transfersOf))
    for (const accountId of accountIds) {
      const coinDelta = closed
        .filter(({ row }) => row.accountId === accountId)
        .reduce((sum, { remainder, feeUnits }) => sum + remainder.usedUnits - remainder.keptUnits - feeUnits, 0)
      if (coinDelta !== 0) await appendAdmissionEvent(client, { accountId, coinDelta })
    }
    return rows.length
  })
}

async function remaindersOf(client: Client, rows: readonly EndedRow[], options: CloseOptions): Promise<Closed[]> {
  const credits = await creditsOf(client, rows)
  const coinUsdUnits = await options.coinUsdUnits(client)
  return rows.map((row) => {
    const account = payerCreditAccount(row.payer, row.asset)
    const { units, costUnits } = row
    const feeUnits = settlementFee(row)
    const isVoided = isRefundedWhole(row)
    const ended = {
      amount: BigInt(row.amount),
      units,
      chargeUnits: costUnits + feeUnits,
      voided: isVoided,
      creditUnits: credits.get(account) ?? 0,
    }
    const remainder = remainderOf(ended, priceOf(row, options.assets, coinUsdUnits), options.refundMinUnits)
    credits.set(account, remainder.leftUnits)
    return { row, feeUnits, isVoided, remainder }
  })
}

/** The present price of a payment's token; undefined when the operator no longer accepts it. */
function priceOf(
  { asset, token }: EndedRow,
  assets: readonly PaymentAsset[],
  coinUsdUnits: number,
): TokenPrice | undefined {
  const found = assets.find(({ id, address }) => id === asset && address === token)
  return found && { decimals: found.decimals, usdUnits: tokenUsdUnits(found, coinUsdUnits) }
}

async function storeClosed(client: Client, closed: readonly Closed[]): Promise<void> {
  const units = (of: (remainder: Remainder) => number) => intArray(closed.map(({ remainder }) => of(remainder)))
  await client.query(
    `UPDATE payments AS p SET state = 'closed', back_now = c.voided, back_units = c.back_units,
       back_amount = c.back_amount, credit_used_units = c.used, credit_kept_units = c.kept, credit_left_units = c.credit_left,
       fee_units = c.fee, closed_at = now()
     FROM unnest($1::text[], $2::boolean[], $3::bigint[], $4::numeric[], $5::bigint[], $6::bigint[], $7::bigint[],
       $8::bigint[]) AS c (id, voided, back_units, back_amount, used, kept, credit_left, fee)
     WHERE p.id = c.id`,
    [
      textArray(closed.map(({ row }) => row.id)),
      boolArray(closed.map(({ isVoided }) => isVoided)),
      units(({ backUnits }) => backUnits),
      `{${closed.map(({ remainder }) => remainder.backAmount).join(',')}}`,
      units(({ usedUnits }) => usedUnits),
      units(({ keptUnits }) => keptUnits),
      units(({ leftUnits }) => leftUnits),
      intArray(closed.map(({ feeUnits }) => feeUnits)),
    ],
  )
}

function transfersOf({ row, feeUnits, remainder: { usedUnits, keptUnits } }: Closed): Transfer[] {
  const [coin, credit] = [coinAccount(row.accountId), payerCreditAccount(row.payer, row.asset)]
  const moved: Transfer[] = [
    { kind: CREDIT_USED, ref: row.id, debit: credit, credit: coin, units: usedUnits },
    { kind: SETTLEMENT_FEE, ref: row.id, debit: coin, credit: REVENUE, units: feeUnits },
    { kind: CREDIT_KEPT, ref: row.id, debit: coin, credit, units: keptUnits },
  ]
  return moved.filter(({ units }) => units > 0)
}
