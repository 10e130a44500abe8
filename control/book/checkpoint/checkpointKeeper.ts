import type { Logger } from 'pino'
import type { Pool } from '../../runtime/db/pool.ts'
import { logEvent } from '../../runtime/logEvents.ts'
import { Loop } from '../../runtime/loop.ts'
import type { BookLimits } from '../limits.ts'
import type { NoteKey } from './noteKey.ts'
import { signCheckpoint } from './signCheckpoint.ts'
import { headVersions } from './signedHeads.ts'

export interface CheckpointOptions {
  readonly pool: Pool
  readonly log: Logger
  readonly key: NoteKey
  readonly limits: BookLimits
}

/** Signs a checkpoint whenever usage logs have grown, together with all other controls one each limits.checkpointMs. */
export function checkpointKeeper({ pool, log, key, limits }: CheckpointOptions): Loop {
  // Each report is logged once, not every second.
  let told = '[]'
  // As of the last pass that found all of the heads signed.
  let seen: string | undefined
  return new Loop('checkpoints', limits.checkpointMs, log, async () => {
    const versions = await headVersions(pool)
    if (versions === seen) return
    const signed = await signCheckpoint(pool, key, limits)
    if (signed === undefined) return
    if (signed.size === undefined) seen = versions
    const { rewound } = signed
    const text = JSON.stringify(rewound)
    if (text !== told && rewound.length > 0) logEvent(log, 'usage_log_rewound', { rewound })
    told = text
  })
}
