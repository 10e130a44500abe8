import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { startPostgres } from '../control/launch/postgres.ts'
import { stopLeftover } from '../control/launch/process/leftover.ts'
import { findRedis } from '../control/launch/redis.ts'
import { limits } from './support/limits.ts'
import { makeTemplate, TEST_POSTGRES_SETTINGS } from './support/services.ts'
import { makeTempDir, removeTempDir } from './support/tempDir.ts'

const FOLDERS = ['unit', 'integration', 'clients', 'faults']
// Tests wait for processes to start and for times to pass, so two cores have work for four of them.
const FILES_AT_ONCE = 4
const TEST_TIMEOUT_MS = 300_000
const LONG_TEST_TIMEOUT_MS = 3_600_000
const here = fileURLToPath(new URL('.', import.meta.url))

/**
 * The compiled test files that the arguments name: folders, or parts of file names; none names all but the long ones.
 */
function testFiles(wanted: readonly string[]): string[] {
  const files = [...FOLDERS, 'long']
    .filter((folder) => existsSync(join(here, folder)))
    .flatMap((folder) => readdirSync(join(here, folder), { recursive: true }).map((file) => `${folder}/${file}`))
    .filter((file) => file.endsWith('.test.js'))
  const chosen =
    wanted.length === 0
      ? files.filter((file) => !file.startsWith('long/'))
      : files.filter((file) =>
          wanted.some((part) => (isFolder(part) ? file.startsWith(`${part}/`) : file.includes(part))),
        )
  return chosen.sort().map((file) => join(here, file))
}

function isFolder(name: string): boolean {
  return FOLDERS.includes(name) || name === 'long'
}

async function runNode(files: readonly string[], env: NodeJS.ProcessEnv, timeoutMs: number): Promise<number> {
  const flags = ['--enable-source-maps', '--test', `--test-concurrency=${FILES_AT_ONCE}`, `--test-timeout=${timeoutMs}`]
  const child = spawn(process.execPath, [...flags, ...files], { stdio: 'inherit', env: { ...process.env, ...env } })
  const pass = (signal: NodeJS.Signals) => child.kill(signal)
  process.on('SIGINT', pass).on('SIGTERM', pass)
  const [code] = await once(child, 'exit')
  return code ?? 1
}

/** Stops the servers that a test which died has left in the folder of the run. */
async function stopLeftovers(dir: string): Promise<void> {
  for (const entry of readdirSync(dir)) {
    await stopLeftover(join(dir, entry, 'redis.pid'), /(redis|valkey)-server/, 'SIGKILL', limits)
    await stopLeftover(join(dir, entry, 'cluster/postmaster.pid'), /postgres/, 'SIGQUIT', limits)
    await stopLeftover(join(dir, entry, 'anvil.pid'), /anvil/, 'SIGKILL', limits)
  }
}

async function main(): Promise<number> {
  const wanted = process.argv.slice(2)
  const files = testFiles(wanted)
  if (files.length === 0) throw new Error(`no test file matches: ${wanted.join(' ')}`)
  const dir = makeTempDir('tests')
  const servers = makeTempDir('cluster')
  const ports = makeTempDir('ports')
  process.env['SLUICE_PORT_NOTES'] = ports
  const postgres = await startPostgres({
    dir: join(servers, 'cluster'),
    logFile: join(servers, 'postgres.log'),
    settings: TEST_POSTGRES_SETTINGS,
    limits,
  })
  try {
    const isLong = wanted.includes('long')
    const env = {
      SLUICE_TEST_DATABASE_URL: postgres.url('postgres'),
      SLUICE_TEST_TEMPLATE: await makeTemplate(postgres),
      SLUICE_TEST_REDIS: findRedis(),
      SLUICE_TEST_DIR: dir,
      SLUICE_TEST_LONG: isLong ? '1' : '',
    }
    return await runNode(files, env, isLong ? LONG_TEST_TIMEOUT_MS : TEST_TIMEOUT_MS)
  } finally {
    await stopLeftovers(dir)
    await postgres.process.stop()
    removeTempDir(dir)
    removeTempDir(postgres.dir, postgres.passwordFile, servers, ports)
  }
}

process.exitCode = await main()
