import type { Queryable } from '../../runtime/db/pool.ts'
import type { RawEntry } from './entry.ts'

export interface Reject {
  readonly raw: RawEntry
  readonly reason: string
}

/** The settlement as it came, and the other fields as JSON text of [name, value in base64] pairs. */
function contentOf(raw: RawEntry): { settlement: Buffer | null; fields: string } {
  const values = raw.fields ?? []
  let settlement: Buffer | null = null
  const fields: [string, string][] = []
  for (let i = 0; i < values.length; i += 2) {
    const name = values[i]?.toString('utf8').replaceAll('\u0000', '') ?? ''
    const value = values[i + 1] ?? Buffer.alloc(0)
    if (name === 'e') settlement = value
    else fields.push([name, value.toString('base64')])
  }
  return { settlement, fields: JSON.stringify(fields) }
}

/** Keeps entries that can not be booked, with all their bytes, so that the streams go on and nothing is lost. */
export async function keepRejects(client: Queryable, rejects: readonly Reject[]): Promise<void> {
  for (const { raw, reason } of rejects) {
    const { settlement, fields } = contentOf(raw)
    await client.query(
      `INSERT INTO settlement_rejects (shard, entry_id, reason, settlement, fields) VALUES ($1, $2, $3, $4, $5)
       ON CONFLICT DO NOTHING`,
      [raw.shard, raw.id, reason.replaceAll('\u0000', '').slice(0, 1_000), settlement, fields],
    )
  }
}
