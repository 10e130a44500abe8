import type { Queryable } from '../../runtime/db/pool.ts'
import type { StoredNode } from './frontier.ts'

interface Range {
  readonly level: number
  readonly from: number
  readonly until: number
  readonly resolve: (hashes: Buffer[]) => void
  readonly reject: (error: unknown) => void
}

/** Named, because its plan takes longer than its run. */
const NODES_OF_RANGES = {
  name: 'log_nodes_of_ranges',
  text: `SELECT n.level, n.index, n.hash
    FROM unnest($2::integer[], $3::bigint[], $4::bigint[]) AS r (level, low, high)
    JOIN usage_log_nodes n ON n.log = $1 AND n.level = r.level AND n.index >= r.low AND n.index < r.high
    ORDER BY n.level, n.index`,
}

/** Reads ranges of stored nodes of one log. The ranges that are asked for within a tick share one query. */
export class NodeRanges {
  private readonly db: Queryable
  private readonly log: number
  private waiting: Range[] = []

  constructor(db: Queryable, log: number) {
    this.db = db
    this.log = log
  }

  /** The stored hashes of one level from an index until another, in their order. */
  read(level: number, from: number, until: number): Promise<Buffer[]> {
    return new Promise((resolve, reject) => {
      if (this.waiting.length === 0) queueMicrotask(() => void this.flush())
      this.waiting.push({ level, from, until, resolve, reject })
    })
  }

  private async flush(): Promise<void> {
    const ranges = this.waiting
    this.waiting = []
    const bounds = [ranges.map(({ level }) => level), ranges.map(({ from }) => from), ranges.map(({ until }) => until)]
    try {
      const { rows } = await this.db.query<StoredNode>({ ...NODES_OF_RANGES, values: [this.log, ...bounds] })
      for (const { level, from, until, resolve } of ranges) {
        resolve(rows.filter((n) => n.level === level && n.index >= from && n.index < until).map(({ hash }) => hash))
      }
    } catch (error) {
      for (const { reject } of ranges) reject(error)
    }
  }
}
