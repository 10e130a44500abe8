import { PROVIDER_COST } from '../../../book/ledger/accounts.ts'
import { type Due, type Earned, type EarningRule, payStretches } from '../../../book/ledger/payEarnings.ts'
import { countAlong } from '../../../book/usagelog/cursors.ts'
import type { Stretch } from '../../../book/usagelog/stretches.ts'
import { bookPrice } from '../../../catalog/pricing/coinAmounts.ts'
import { intArray, textArray } from '../../../runtime/db/arrays.ts'
import { type Client, type Pool, withTransaction } from '../../../runtime/db/pool.ts'
import type { MarketplaceLimits } from '../limits.ts'
import { PPM } from './admission.ts'
import { servedReceipts } from './servedReceipts.ts'

/** The amount due for the receipts of an admission within a stretch. */
interface ProviderDue extends Due {
  readonly receipts: number
  readonly charged: number
  /** In 1/1000000 units, as decimal text. */
  readonly micros: string
}

const DUE = `
  SELECT a.id, a.account_id AS "accountId", a.rest, count(*) AS receipts, sum(r.charge_units) AS charged, sum(d.due_micros)::text AS micros
  FROM ${servedReceipts('receipts')} AND r.log = $1 AND r.position >= $2 AND r.position < $3
  GROUP BY a.id, a.account_id, a.rest ORDER BY a.id`

/**
 * Pays registered providers for the receipts in the next stretches of the usage logs, in one transaction with
 * the cursors of the logs: every receipt counts exactly once, even if processes run this concurrently or crash.
 * @returns whether a log has receipts after its stretch
 */
export function payProviders(pool: Pool, limits: MarketplaceLimits): Promise<boolean> {
  return withTransaction(pool, async (client) => {
    // Receipts in the logs can only name providers that were admitted before.
    const counts = async () => (await client.query('SELECT FROM provider_admissions LIMIT 1')).rowCount !== 0
    const pay = async (stretches: readonly Stretch[]) =>
      payStretches(client, stretches, await bookPrice(client), EARNING)
    return countAlong(client, 'provider_cursors', limits.providerPayBatchMax, counts, pay)
  })
}

const EARNING: EarningRule<ProviderDue> = {
  due: DUE,
  partsOf: ({ micros }) => BigInt(micros),
  whole: BigInt(PPM),
  note: noteEarnings,
  from: ({ id, stretch: { log, to } }) => ({
    kind: 'provider_share',
    ref: `${id}:${log}:${to}`,
    debit: PROVIDER_COST,
  }),
}

async function noteEarnings(
  client: Client,
  earnings: readonly Earned<ProviderDue>[],
  { log, from, to }: Stretch,
): Promise<void> {
  const values = [
    textArray(earnings.map(({ id }) => id)),
    intArray(earnings.map(({ receipts }) => receipts)),
    intArray(earnings.map(({ charged }) => charged)),
    intArray(earnings.map(({ units }) => units)),
  ]
  await client.query(
    `INSERT INTO provider_earnings (admission_id, receipts, charged_units, units, due_micros, log, from_position, to_position)
     SELECT id, receipts, charged, units, due::numeric, $6::smallint, $7::bigint, $8::bigint
     FROM unnest($1::text[], $2::bigint[], $3::bigint[], $4::bigint[], $5::text[]) AS s (id, receipts, charged, units, due)`,
    [...values, textArray(earnings.map(({ micros }) => micros)), log, from, to],
  )
  await client.query(
    `UPDATE provider_admissions AS a SET receipts = a.receipts + s.receipts, charged_units = a.charged_units + s.charged,
       earned_units = a.earned_units + s.units, earned_nanos = a.earned_nanos + s.nanos, rest = s.rest
     FROM unnest($1::text[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::integer[])
       AS s (id, receipts, charged, units, nanos, rest)
     WHERE a.id = s.id`,
    [...values, intArray(earnings.map(({ nanos }) => nanos)), intArray(earnings.map(({ newRest }) => newRest))],
  )
}
