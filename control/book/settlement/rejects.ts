import { intArray, textArray } from '../../runtime/db/arrays.ts'
import type { Queryable } from '../../runtime/db/pool.ts'
import type { EntrySource, RawEntry } from './entry.ts'

export interface Reject {
  readonly from: EntrySource
  readonly reason: string
}

interface Content {
  readonly settlement: Uint8Array | null
  readonly fields: string
}

/** The name of a reject: the id of its stream entry, and its number where that carries several endings. */
export function rejectName({ raw, delivered }: EntrySource): string {
  return delivered === undefined ? raw.id : `${raw.id}/${delivered.seq}`
}

/** An ending as it came, or all of its stream entry that carries one thing. */
function contentOf({ raw, delivered }: EntrySource): Content {
  if (delivered === undefined) return contentOfEntry(raw)
  return { settlement: delivered.bytes, fields: ownerField(delivered.owner) }
}

const ownerField = (owner: string): string => JSON.stringify([['owner', Buffer.from(owner).toString('base64')]])

/** The settlement as it came, and the other fields as JSON text of [name, value in base64] pairs. */
function contentOfEntry(raw: RawEntry): Content {
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

/** Stores entries that cannot be booked, with all their bytes, so that they do not block the streams and nothing is lost. */
export async function keepRejects(client: Queryable, rejects: readonly Reject[]): Promise<void> {
  for (const { from, reason } of rejects) {
    const { settlement, fields } = contentOf(from)
    await client.query(
      `INSERT INTO settlement_rejects (shard, entry_id, reason, settlement, fields) VALUES ($1, $2, $3, $4, $5)
       ON CONFLICT DO NOTHING`,
      [from.raw.shard, rejectName(from), reason.replaceAll('\u0000', '').slice(0, 1_000), settlement, fields],
    )
  }
}

/** Delivered endings that were rejected before, in whichever stream entry they came; others are never among them. */
export async function rejectedAmong<E extends EntrySource>(client: Queryable, endings: readonly E[]): Promise<Set<E>> {
  if (endings.length === 0) return new Set()
  const found = await client.query<{ place: number }>(
    `SELECT place FROM unnest($1::smallint[], $2::text[], $3::text[]) WITH ORDINALITY AS ending (shard, fields, seq, place)
     WHERE EXISTS (SELECT FROM settlement_rejects r
       WHERE r.shard = ending.shard AND r.fields = ending.fields AND split_part(r.entry_id, '/', 2) = ending.seq)`,
    [
      intArray(endings.map(({ raw }) => raw.shard)),
      textArray(endings.map(({ delivered }) => ownerField(delivered?.owner ?? ''))),
      textArray(endings.map(({ delivered }) => String(delivered?.seq ?? ''))),
    ],
  )
  const places = new Set(found.rows.map(({ place }) => place - 1))
  return new Set(endings.filter((_, place) => places.has(place)))
}
