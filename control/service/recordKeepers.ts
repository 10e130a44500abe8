import type { Logger } from 'pino'
import type { Redis } from '../../contract/wire/redis.ts'
import { checkpointKeeper } from '../book/checkpoint/checkpointKeeper.ts'
import type { Limits } from '../limits.ts'
import { archiveKeeper } from '../records/archive/archiveKeeper.ts'
import { exportKeeper } from '../records/export/exportKeeper.ts'
import type { Pool } from '../runtime/db/pool.ts'
import type { Environment } from './environment.ts'

interface RecordParts {
  readonly environment: Pick<Environment, 'logKey' | 'archive' | 'export'>
  readonly pool: Pool
  readonly redis: Redis
  readonly log: Logger
  readonly limits: Limits
}

interface Running {
  readonly name: string
  readonly stop: () => Promise<void>
}

/** Starts the loops over what is booked, those that the environment asks for: checkpoints, the archive, the export. */
export function recordKeepers({ environment, pool, redis, log, limits }: RecordParts): Running[] {
  const { logKey: key, archive, export: exported } = environment
  const keepers: Running[] = []
  if (key !== undefined) keepers.push(running('checkpoints', checkpointKeeper({ pool, log, key, limits })))
  if (archive !== undefined && archive.keptMonths > 0) {
    keepers.push(running('archive', archiveKeeper({ pool, redis, log, limits, ...archive })))
  }
  if (exported !== undefined) {
    const { form, store } = exported
    keepers.push(running('export', exportKeeper({ pool, log, limits, form, store: store(limits) })))
  }
  return keepers
}

function running(name: string, keeper: { stop(): Promise<unknown> }): Running {
  return { name, stop: async () => void (await keeper.stop()) }
}
