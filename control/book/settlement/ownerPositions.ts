import { intArray, textArray } from '../../runtime/db/arrays.ts'
import type { Client, Queryable } from '../../runtime/db/pool.ts'
import type { Entry, RawEntry } from './entry.ts'

/** Endings first to last of one owner and shard. */
interface Run {
  readonly first: number
  readonly last: number
}

/** How far the endings of one owner are booked in one shard. */
export interface Progress {
  /** All up to this one are booked. */
  readonly seq: number
  /** Booked after a gap, ascending; several controls book side by side, so that one may be ahead of another. */
  readonly ahead: readonly Run[]
}

/** Endings of one owner that follow each other in a shard. */
export interface OwnerRun extends Run {
  readonly owner: string
  readonly shard: number
}

const NOTHING: Progress = { seq: 0, ahead: [] }

export interface OwnerPosition extends Progress {
  readonly owner: string
  readonly shard: number
}

/** Adds endings to those that are booked. */
export function addRun({ seq, ahead }: Progress, run: Run): Progress {
  let upTo = seq
  const left: Run[] = []
  for (const next of [...ahead, run].sort((a, b) => a.first - b.first)) {
    const before = left.at(-1)
    if (next.first <= upTo + 1) upTo = Math.max(upTo, next.last)
    else if (before === undefined || next.first > before.last + 1) left.push(next)
    else left[left.length - 1] = { first: before.first, last: Math.max(before.last, next.last) }
  }
  return { seq: upTo, ahead: left }
}

interface Row {
  readonly owner: string
  readonly shard: number
  readonly seq: number
  /** As text: the driver leaves arrays of bigint so. */
  readonly ahead: readonly (string | number)[]
}

/** How far the endings of owners are booked, read and written in the transaction that books more of them. */
export class OwnerPositions {
  private readonly known: Map<string, Progress>
  private lastRaw: RawEntry | undefined
  private lastProgress = NOTHING

  private constructor(positions: readonly OwnerPosition[]) {
    this.known = new Map(positions.map((position) => [nameOf(position.owner, position.shard), position]))
  }

  /** Reads the positions of all owners that have endings among the entries. */
  static async read(client: Queryable, entries: readonly Entry[]): Promise<OwnerPositions> {
    const pairs = new Map<string, { owner: string; shard: number }>()
    eachRun(entries, ({ owner, shard }) => pairs.set(nameOf(owner, shard), { owner, shard }))
    if (pairs.size === 0) return new OwnerPositions([])
    const wanted = [...pairs.values()]
    const found = await client.query<Row>({
      name: 'settlement_owner_positions',
      text: `SELECT p.owner, p.shard, p.seq, p.ahead FROM unnest($1::text[], $2::smallint[]) AS wanted (owner, shard)
             JOIN owner_positions p USING (owner, shard)`,
      values: [textArray(wanted.map(({ owner }) => owner)), intArray(wanted.map(({ shard }) => shard))],
    })
    return new OwnerPositions(found.rows.map(positionOf))
  }

  /** Whether an ending was booked before; false for an entry that is not a delivered ending. */
  has({ raw, delivered }: Entry): boolean {
    if (delivered === undefined) return false
    if (raw !== this.lastRaw) {
      this.lastRaw = raw
      this.lastProgress = this.known.get(nameOf(delivered.owner, raw.shard)) ?? NOTHING
    }
    const { seq, ahead } = this.lastProgress
    return delivered.seq <= seq || ahead.some(({ first, last }) => first <= delivered.seq && delivered.seq <= last)
  }

  /** Records that all these are booked, regardless of their outcome. @returns gaps that were not there before */
  async advance(client: Client, entries: readonly Entry[]): Promise<OwnerPosition[]> {
    const changed = new Map<string, OwnerPosition>()
    eachRun(entries, ({ owner, shard, ...run }) => {
      const name = nameOf(owner, shard)
      const progress = changed.get(name) ?? this.known.get(name) ?? NOTHING
      changed.set(name, { owner, shard, ...addRun(progress, run) })
    })
    if (changed.size > 0) await write(client, [...changed.values()])
    return [...changed].flatMap(([name, gap]) => {
      const before = this.known.get(name) ?? NOTHING
      return gap.ahead.length > before.ahead.length ? [gap] : []
    })
  }
}

/**
 * Reads the positions of proxy processes that are not gone for long, and of those with endings after a gap.
 * @param owners read as well, whatever the book knows of them
 */
export async function readOpenPositions(client: Queryable, owners: readonly string[] = []): Promise<OwnerPosition[]> {
  const found = await client.query<Row>(
    `SELECT owner, shard, seq, ahead FROM owner_positions p
     WHERE ahead <> '{}' OR owner = ANY ($1::text[]) OR EXISTS (SELECT FROM proxy_owners o WHERE o.owner = p.owner)`,
    [textArray(owners)],
  )
  return found.rows.map(positionOf)
}

function positionOf({ owner, shard, seq, ahead }: Row): OwnerPosition {
  const runs: Run[] = []
  for (let i = 0; i + 1 < ahead.length; i += 2) runs.push({ first: Number(ahead[i]), last: Number(ahead[i + 1]) })
  return { owner, shard, seq, ahead: runs }
}

async function write(client: Client, rows: readonly OwnerPosition[]): Promise<void> {
  const ahead = rows.map((row) => intArray(row.ahead.flatMap(({ first, last }) => [first, last])))
  await client.query({
    name: 'settlement_owner_advance',
    text: `INSERT INTO owner_positions (owner, shard, seq, ahead)
           SELECT owner, shard, seq, ahead::bigint[] FROM unnest($1::text[], $2::smallint[], $3::bigint[], $4::text[])
             AS row (owner, shard, seq, ahead)
           ON CONFLICT (owner, shard) DO UPDATE
             SET seq = excluded.seq, ahead = excluded.ahead, booked_at = excluded.booked_at`,
    values: [
      textArray(rows.map(({ owner }) => owner)),
      intArray(rows.map(({ shard }) => shard)),
      intArray(rows.map(({ seq }) => seq)),
      textArray(ahead),
    ],
  })
}

const nameOf = (owner: string, shard: number): string => `${shard} ${owner}`

/** Calls `found` once for all endings that follow each other in one stream entry, which is nearly always all of it. */
export function eachRun(entries: readonly Entry[], found: (run: OwnerRun) => void): void {
  for (let i = 0; i < entries.length; ) {
    const { raw, delivered } = entries[i] as Entry
    let next = i + 1
    if (delivered !== undefined) {
      let last = delivered.seq
      while (entries[next]?.raw === raw && entries[next]?.delivered?.seq === last + 1) {
        last++
        next++
      }
      found({ owner: delivered.owner, shard: raw.shard, first: delivered.seq, last })
    }
    i = next
  }
}
