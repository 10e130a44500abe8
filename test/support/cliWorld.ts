import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { connectRedis, type Redis } from '../../contract/wire/redis.ts'
import { migrate } from '../../control/runtime/db/migrate.ts'
import { createPool, type Pool } from '../../control/runtime/db/pool.ts'
import { CliProcess } from './cli.ts'
import { limits } from './limits.ts'
import { freshDatabase, startTestRedis } from './services.ts'
import { makeTempDir, removeTempDir } from './tempDir.ts'
import { testCatalog } from './testCatalog.ts'

/** A database, a Redis and a catalog file that the command line works on, without a running gateway. */
export interface CliWorld {
  readonly dir: string
  readonly catalogFile: string
  readonly redis: Redis
  readonly pool: Pool
  /** What a command finds all of it by. */
  readonly env: NodeJS.ProcessEnv
  readonly commands: CliProcess
  /** Writes a catalog with this price of input. */
  writeCatalog(input: string): void
  stop(): Promise<void>
}

/** Starts what the command line works on. */
export async function startCliWorld(): Promise<CliWorld> {
  const dir = makeTempDir('cli')
  const catalogFile = join(dir, 'catalog.yaml')
  const server = await startTestRedis()
  const redis = connectRedis(server.url, 'wait')
  const databaseUrl = await freshDatabase()
  const pool = createPool(databaseUrl, limits)
  await migrate(pool)
  const writeCatalog = (input: string): void => {
    const models = [{ id: 'test/small', price: { input, output: '2' } }]
    writeFileSync(catalogFile, testCatalog('http://127.0.0.1:1/v1', { models, coinUsd: '0.5' }))
  }
  writeCatalog('1')
  // Addresses come from what `make run` leaves, as they do for an operator.
  writeFileSync(join(dir, 'run.json'), JSON.stringify({ database_url: databaseUrl, redis_url: server.url }))
  const env = { DATABASE_URL: '', REDIS_URL: '', SLUICE_DATA: dir, SLUICE_CATALOG: catalogFile }
  const commands = new CliProcess(env)
  const stop = async (): Promise<void> => {
    await commands.stop()
    redis.disconnect()
    await pool.end()
    await server.stop()
    removeTempDir(dir)
  }
  return { dir, catalogFile, redis, pool, env, commands, writeCatalog, stop }
}
