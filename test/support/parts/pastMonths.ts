import { idBound, monthStartMs } from '../../../control/book/partitions/idTime.ts'
import { type Pool, withTransaction } from '../../../control/runtime/db/pool.ts'

/**
 * Gives an empty book partitions of past months, as one has that ran all that time.
 * @param months how many before the present one
 */
export function addPastMonths(pool: Pool, months: number): Promise<void> {
  const startOf = (back: number) => monthStartMs(Date.now(), -back)
  return withTransaction(pool, async (client) => {
    await client.query('ALTER TABLE receipts DETACH PARTITION receipts_first')
    const bound = idBound(startOf(months))
    await client.query(
      `ALTER TABLE receipts ATTACH PARTITION receipts_first FOR VALUES FROM (MINVALUE) TO ('${bound}')`,
    )
    const last = new Date(startOf(months + 1)).toISOString().slice(0, 7)
    await client.query(`UPDATE receipt_months SET month = $1, until_id = $2 WHERE partition = 'receipts_first'`, [
      last,
      bound,
    ])
    for (let back = months; back > 0; back--) {
      await client.query('SELECT add_receipt_month(to_timestamp($1))', [startOf(back) / 1_000])
    }
  })
}
