import type { Logger } from 'pino'
import type { Pool } from '../../runtime/db/pool.ts'
import { logEvent } from '../../runtime/logEvents.ts'
import { Loop } from '../../runtime/loop.ts'
import type { BookLimits } from '../limits.ts'
import type { NoteKey } from './noteKey.ts'
import { signCheckpoint } from './signCheckpoint.ts'
import type { Rewound } from './signedHeads.ts'

export interface CheckpointOptions {
  readonly pool: Pool
  readonly log: Logger
  readonly key: NoteKey
  readonly limits: BookLimits
}

/** Signs a checkpoint whenever usage logs have grown, together with all other controls one each limits.checkpointMs. */
export class CheckpointKeeper {
  private readonly loop: Loop
  private readonly log: Logger
  /** The last report that was logged, as text. */
  private told = '[]'

  constructor({ pool, log, key, limits }: CheckpointOptions) {
    this.log = log
    this.loop = new Loop('checkpoints', limits.checkpointMs, log, async () => {
      const signed = await signCheckpoint(pool, key, limits)
      if (signed !== undefined) this.tell(signed.rewound)
    })
  }

  stop(): Promise<void> {
    return this.loop.stop()
  }

  /** Logs a report once, not every second. */
  private tell(rewound: readonly Rewound[]): void {
    const text = JSON.stringify(rewound)
    if (text === this.told) return
    this.told = text
    if (rewound.length > 0) logEvent(this.log, 'usage_log_rewound', { rewound })
  }
}
