import { chmodSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connectRedis, type Redis } from '../../contract/wire/redis.ts'
import { type PostgresServer, startPostgres } from '../../control/launch/postgres.ts'
import { startRedis } from '../../control/launch/redis.ts'
import { createPool, type Pool } from '../../control/runtime/db/pool.ts'
import { limits } from '../limits.ts'

/** A PostgreSQL and a Redis of a benchmark's own. */
export interface BookServers {
  /** Where they and others may keep their files. */
  readonly dir: string
  readonly postgres: PostgresServer
  readonly databaseUrl: string
  readonly pool: Pool
  readonly redisUrl: string
  readonly redis: Redis
  /** Disconnects, stops both and removes their files, unless the folder was given. */
  readonly stop: () => Promise<void>
}

/**
 * Starts the servers that a book and its admission need.
 * @param benchmark in the name of their folder
 * @param kept a folder that outlives them; made if it is not there
 * @param settings of PostgreSQL
 */
export async function startBookServers(
  benchmark: string,
  { kept, settings }: { kept?: string | undefined; settings?: Readonly<Record<string, string>> } = {},
): Promise<BookServers> {
  stopOnSignals()
  const dir = kept ?? mkdtempSync(join(tmpdir(), `sluice-bench-${benchmark}-`))
  mkdirSync(dir, { recursive: true })
  // PostgreSQL runs as another user when this program runs as root.
  chmodSync(dir, 0o755)
  const files = (name: string) => ({ dir: join(dir, name), logFile: join(dir, `${name}.log`) })
  const postgres = await startPostgres({ ...files('pg'), ...(settings && { settings }), limits })
  const redisServer = await startRedis({ ...files('redis'), limits })
  const databaseUrl = await postgres.provideDatabase('bench')
  const pool = createPool(databaseUrl, limits)
  const redis = connectRedis(redisServer.url, 'wait')
  const stop = async () => {
    redis.disconnect()
    await pool.end()
    await redisServer.process.stop()
    await postgres.process.stop()
    if (kept === undefined) for (const each of [postgres.dir, dir]) rmSync(each, { recursive: true, force: true })
  }
  return { dir, postgres, databaseUrl, pool, redisUrl: redisServer.url, redis, stop }
}

/** The servers are stopped in exit handlers, which do not run if a signal ends the process. */
function stopOnSignals(): void {
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1))
}
