import type { Queryable } from '../../runtime/db/pool.ts'
import { type GaugeGroup, gaugeGroup } from '../../runtime/metrics/metricGroups.ts'
import { compareHeads } from './signedHeads.ts'

/** How far the usage logs are signed. */
export interface CheckpointSample {
  /** Of the last checkpoint; 0 before the first one. */
  readonly ageSeconds: number
  /** Size of the log of heads in it. */
  readonly heads: number
  /** Booked and in no checkpoint yet. */
  readonly receiptsUnsigned: number
  /** Logs that contradict their signed head. */
  readonly logsRewound: number
  /** Of the last checkpoint that a witness has cosigned; 0 for none. */
  readonly cosignedAgeSeconds: number
}

const AGES = `
  SELECT max(size) AS heads, coalesce(extract(epoch FROM statement_timestamp() - max(signed_at)), 0)::float8 AS age,
    coalesce(extract(epoch FROM statement_timestamp() - max(signed_at) FILTER (WHERE is_cosigned)), 0)::float8 AS cosigned_age
  FROM (
    (SELECT size, signed_at, false AS is_cosigned FROM checkpoints ORDER BY size DESC LIMIT 1)
    UNION ALL
    SELECT size, signed_at, true FROM checkpoints WHERE size = (SELECT max(size) FROM cosignatures)
  ) AS last`

/** Reads how far the usage logs are signed, regardless of the control that signs. */
export async function sampleCheckpoints(db: Queryable): Promise<CheckpointSample> {
  const { grown, rewound } = await compareHeads(db)
  const found = await db.query<{ heads: number | null; age: number; cosigned_age: number }>(AGES)
  const { heads = null, age = 0, cosigned_age = 0 } = found.rows[0] ?? {}
  return {
    ageSeconds: age,
    heads: heads ?? 0,
    receiptsUnsigned: grown.reduce((sum, { size, signedSize }) => sum + size - signedSize, 0),
    logsRewound: rewound.length,
    cosignedAgeSeconds: cosigned_age,
  }
}

/** How far the usage logs are signed, as metrics. */
export function checkpointGauges(db: Queryable): GaugeGroup {
  return gaugeGroup(
    {
      checkpoint_age_seconds: 'Age of the last checkpoint of the usage logs',
      checkpoint_heads: 'Heads of usage logs that it signs',
      receipts_unsigned: 'Receipts that are booked and in no checkpoint yet',
      logs_rewound: 'Usage logs that are not what was signed of them, and are signed no more',
      cosigned_age_seconds: 'Age of the last checkpoint that a witness has cosigned; 0 for none',
    },
    async () => {
      const sample = await sampleCheckpoints(db)
      return {
        checkpoint_age_seconds: sample.ageSeconds,
        checkpoint_heads: sample.heads,
        receipts_unsigned: sample.receiptsUnsigned,
        logs_rewound: sample.logsRewound,
        cosigned_age_seconds: sample.cosignedAgeSeconds,
      }
    },
  )
}
