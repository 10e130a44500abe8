import type { Limits } from '../../limits.ts'
import { byteaArray, intArray } from '../../runtime/db/arrays.ts'
import { type Client, type Pool, withTransaction } from '../../runtime/db/pool.ts'
import { Frontier } from '../usagelog/frontier.ts'
import { appendLeaves, HEADS_LOG, LOG_COUNT, lockHeads } from '../usagelog/head.ts'
import { leafHash } from '../usagelog/merkle.ts'
import { checkpointText, headText, type LogHead } from './checkpointText.ts'
import type { NoteKey } from './noteKey.ts'

interface NumberedHead extends LogHead {
  readonly log: number
}

/** A log that is not what was signed of it before: it is shorter, or has another root at the same size. */
export interface Rewound {
  readonly log: number
  readonly signedSize: number
  readonly size: number
}

export interface Signed {
  /** The new checkpoint's size of the log of heads; undefined where nothing is new. */
  readonly size?: number
  /** Of these nothing is signed any more. */
  readonly rewound: readonly Rewound[]
}

const LAST_SIGNED = `
  SELECT h.log, h.size, h.root
  FROM generate_series(0, ${LOG_COUNT - 1}) AS l (log)
  CROSS JOIN LATERAL (SELECT log, size, root FROM log_heads WHERE log = l.log ORDER BY size DESC LIMIT 1) h`

/**
 * Signs the heads that the usage logs have now, where one has grown since. Whoever signs has the head of the log of heads
 * locked: one control at a time does, and one that dies lets go with its connection.
 * @returns undefined while the last checkpoint is too young for another one
 */
export function signCheckpoint(pool: Pool, key: NoteKey, limits: Limits): Promise<Signed | undefined> {
  return withTransaction(pool, async (client) => {
    const frontier = (await lockHeads(client, [HEADS_LOG])).get(HEADS_LOG)
    if (frontier === undefined || (await isYoung(client, limits))) return undefined
    const { grown, rewound } = compare(await readHeads(client), await readSigned(client))
    if (grown.length === 0) return { rewound }
    const first = frontier.size
    const leaves = grown.map((head) => leafHash(headText(head.log, head)))
    await appendLeaves(client, [{ log: HEADS_LOG, frontier, leaves }])
    await insertHeads(client, first, grown)
    const { size } = frontier
    const note = key.sign(checkpointText(key.name, { size, root: frontier.root() }))
    await client.query('INSERT INTO checkpoints (size, note, key) VALUES ($1, $2, $3)', [size, note, key.verifier()])
    return { size, rewound }
  })
}

/** Whether the last checkpoint is too young for another one, whoever signed it. */
async function isYoung(client: Client, limits: Limits): Promise<boolean> {
  const found = await client.query<{ is_young: boolean }>(
    `SELECT signed_at > clock_timestamp() - $1 * interval '1 ms' AS is_young FROM checkpoints ORDER BY size DESC LIMIT 1`,
    [limits.checkpointMs],
  )
  return found.rows[0]?.is_young ?? false
}

async function readHeads(client: Client): Promise<NumberedHead[]> {
  const found = await client.query<{ log: number; size: number; peaks: Buffer }>(
    `SELECT log, size, peaks FROM usage_log_heads WHERE log < ${LOG_COUNT} ORDER BY log`,
  )
  return found.rows.map(({ log, size, peaks }) => ({ log, size, root: new Frontier(size, peaks).root() }))
}

async function readSigned(client: Client): Promise<Map<number, LogHead>> {
  const found = await client.query<NumberedHead>(LAST_SIGNED)
  return new Map(found.rows.map((head) => [head.log, head]))
}

function compare(heads: readonly NumberedHead[], signed: ReadonlyMap<number, LogHead>) {
  const grown: NumberedHead[] = []
  const rewound: Rewound[] = []
  for (const head of heads) {
    const { log, size, root } = head
    const before = signed.get(log)
    const signedSize = before?.size ?? 0
    if (size > signedSize) grown.push(head)
    else if (size < signedSize || before?.root.equals(root) === false) rewound.push({ log, signedSize, size })
  }
  return { grown, rewound }
}

async function insertHeads(client: Client, first: number, heads: readonly NumberedHead[]): Promise<void> {
  await client.query(
    `INSERT INTO log_heads (position, log, size, root)
     SELECT * FROM unnest($1::bigint[], $2::smallint[], $3::bigint[], $4::bytea[])`,
    [
      intArray(heads.map((_, place) => first + place)),
      intArray(heads.map(({ log }) => log)),
      intArray(heads.map(({ size }) => size)),
      byteaArray(heads.map(({ root }) => root)),
    ],
  )
}
