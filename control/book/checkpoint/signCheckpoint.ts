import { byteaArray, intArray } from '../../runtime/db/arrays.ts'
import { type Client, type Pool, withTransaction } from '../../runtime/db/pool.ts'
import type { BookLimits } from '../limits.ts'
import { appendLeaves, type CurrentHead, HEADS_LOG, lockHeads } from '../usagelog/head.ts'
import { leafHash } from '../usagelog/merkle.ts'
import { checkpointText, headText } from './checkpointText.ts'
import type { NoteKey } from './noteKey.ts'
import { compareHeads, type Rewound } from './signedHeads.ts'

export interface Signed {
  /** The new checkpoint's size of the log of heads; undefined where nothing is new. */
  readonly size?: number
  /** Logs that are not signed any more. */
  readonly rewound: readonly Rewound[]
}

/**
 * Signs the heads that the usage logs have now, where one has grown since. The signer locks the head of the log of heads: one
 * control signs at a time, and a crashed one releases the lock with its connection.
 * @returns undefined while the last checkpoint is too young for another one
 */
export function signCheckpoint(pool: Pool, key: NoteKey, limits: BookLimits): Promise<Signed | undefined> {
  return withTransaction(pool, async (client) => {
    const frontier = (await lockHeads(client, [HEADS_LOG])).get(HEADS_LOG)
    if (frontier === undefined || (await isYoung(client, limits))) return undefined
    const { grown, rewound } = await compareHeads(client)
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

/** Whether the last checkpoint is too young for another one, regardless of its signer. */
async function isYoung(client: Client, limits: BookLimits): Promise<boolean> {
  const found = await client.query<{ is_young: boolean }>(
    `SELECT signed_at > clock_timestamp() - $1 * interval '1 ms' AS is_young FROM checkpoints ORDER BY size DESC LIMIT 1`,
    [limits.checkpointMs],
  )
  return found.rows[0]?.is_young ?? false
}

async function insertHeads(client: Client, first: number, heads: readonly CurrentHead[]): Promise<void> {
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
