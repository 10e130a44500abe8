import { compareStreamIds, parseStreamId, type StreamId } from '../../../contract/wire/streamId.ts'
import { intArray } from '../../runtime/db/arrays.ts'
import type { Queryable } from '../../runtime/db/pool.ts'
import type { RawEntry } from './entry.ts'

/** How far the book is with a shard's stream. */
export interface StreamPosition {
  /** The last booked entry. */
  readonly last: StreamId
  /** When the shard's admission state was last loaded from the book, on Redis's clock. */
  readonly loadedMs: number
}

/** The positions by shard; a shard that never had an entry is absent. */
export async function readPositions(client: Queryable): Promise<Map<number, StreamPosition>> {
  const found = await client.query<{ shard: number; last_ms: number; last_seq: number; loaded_ms: number }>({
    name: 'stream_positions',
    text: 'SELECT shard, last_ms, last_seq, loaded_ms FROM stream_positions',
  })
  return new Map(
    found.rows.map((row) => [row.shard, { last: { ms: row.last_ms, seq: row.last_seq }, loadedMs: row.loaded_ms }]),
  )
}

/** Remembers the newest of these entries by shard; positions never go back. */
export async function advancePositions(client: Queryable, entries: readonly RawEntry[]): Promise<void> {
  const newest = new Map<number, StreamId>()
  for (const entry of entries) {
    const id = parseStreamId(entry.id)
    const known = newest.get(entry.shard)
    if (known === undefined || compareStreamIds(id, known) > 0) newest.set(entry.shard, id)
  }
  const rows = [...newest]
  await client.query({
    name: 'settlement_positions',
    text: `
      INSERT INTO stream_positions AS p (shard, last_ms, last_seq)
      SELECT * FROM unnest($1::smallint[], $2::bigint[], $3::bigint[])
      ON CONFLICT (shard) DO UPDATE SET last_ms = excluded.last_ms, last_seq = excluded.last_seq
        WHERE (excluded.last_ms, excluded.last_seq) > (p.last_ms, p.last_seq)`,
    values: [
      intArray(rows.map(([shard]) => shard)),
      intArray(rows.map(([, id]) => id.ms)),
      intArray(rows.map(([, id]) => id.seq)),
    ],
  })
}

/** Sets the positions of shards whose admission state is loaded, also to earlier ones. */
export async function setPositions(client: Queryable, positions: ReadonlyMap<number, StreamPosition>): Promise<void> {
  const rows = [...positions.values()]
  await client.query(
    `INSERT INTO stream_positions (shard, last_ms, last_seq, loaded_ms)
     SELECT * FROM unnest($1::smallint[], $2::bigint[], $3::bigint[], $4::bigint[])
     ON CONFLICT (shard) DO UPDATE SET last_ms = excluded.last_ms, last_seq = excluded.last_seq, loaded_ms = excluded.loaded_ms`,
    [
      intArray([...positions.keys()]),
      intArray(rows.map(({ last }) => last.ms)),
      intArray(rows.map(({ last }) => last.seq)),
      intArray(rows.map(({ loadedMs }) => loadedMs)),
    ],
  )
}
