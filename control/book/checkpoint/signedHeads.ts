import type { Queryable } from '../../runtime/db/pool.ts'
import { type CurrentHead, LOG_COUNT, readHeads } from '../usagelog/head.ts'
import type { LogHead } from './checkpointText.ts'

/** A log that has grown since its last signed head. */
export interface Grown extends CurrentHead {
  readonly signedSize: number
}

/** A log that contradicts its signed head: it is shorter, or has another root at the same size. */
export interface Rewound {
  readonly log: number
  readonly signedSize: number
  readonly size: number
}

const LAST_SIGNED = `
  SELECT h.log, h.size, h.root
  FROM generate_series(0, ${LOG_COUNT - 1}) AS l (log)
  CROSS JOIN LATERAL (SELECT log, size, root FROM log_heads WHERE log = l.log ORDER BY size DESC LIMIT 1) h`

/**
 * The state that a comparison of the heads depends on, as a text: the version of each head's row, which changes with the head,
 * and the last signed head. The log of heads has a row too, which changes with every checkpoint.
 */
export async function headVersions(db: Queryable): Promise<string> {
  const found = await db.query<{ versions: string }>({
    name: 'usage_log_head_versions',
    text: `SELECT string_agg(xmin::text, ' ' ORDER BY log) || ' ' || (SELECT coalesce(max(position), -1) FROM log_heads) AS versions
           FROM usage_log_heads`,
  })
  return found.rows[0]?.versions ?? ''
}

/** Compares the current heads of the usage logs with the last signed head of each. */
export async function compareHeads(db: Queryable): Promise<{ grown: Grown[]; rewound: Rewound[] }> {
  // Read first, so that a head that is signed meanwhile cannot be ahead of its log.
  const signed = await readSigned(db)
  const grown: Grown[] = []
  const rewound: Rewound[] = []
  for (const head of await readHeads(db, LOG_COUNT - 1)) {
    const { log, size, root } = head
    const before = signed.get(log)
    const signedSize = before?.size ?? 0
    if (size > signedSize) grown.push({ ...head, signedSize })
    else if (size < signedSize || before?.root.equals(root) === false) rewound.push({ log, signedSize, size })
  }
  return { grown, rewound }
}

async function readSigned(db: Queryable): Promise<Map<number, LogHead>> {
  const found = await db.query<CurrentHead>(LAST_SIGNED)
  return new Map(found.rows.map((head) => [head.log, head]))
}
