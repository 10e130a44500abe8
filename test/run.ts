import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { startPostgres } from '../control/launch/postgres.ts'
import { stopLeftover } from '../control/launch/process/leftover.ts'
import { findRedis } from '../control/launch/redis.ts'
import { CliPool } from './support/cliPool.ts'
import type { Failure } from './support/failureReporter.ts'
import { limits } from './support/limits.ts'
import { makeTemplate, TEST_POSTGRES_SETTINGS } from './support/services.ts'
import { makeTempDir, removeTempDir } from './support/tempDir.ts'

const FOLDERS = ['unit', 'integration', 'clients', 'wires']
/** Tests that take long: they run where the arguments name them. */
const LONG_FOLDERS = ['faults', 'long']
// Tests wait for processes to start and for times to pass, so two cores have work for four of them.
const FILES_AT_ONCE = 4
/** More files that fail than this are no accident of a busy machine. */
const RERUN_FILES_MAX = 2
const TEST_TIMEOUT_MS = 600_000
const LONG_TEST_TIMEOUT_MS = 3_600_000
const here = fileURLToPath(new URL('.', import.meta.url))

/**
 * The compiled test files that the arguments name: folders, or parts of file names; none names all but those of the long folders.
 */
function testFiles(wanted: readonly string[]): string[] {
  const files = [...FOLDERS, ...LONG_FOLDERS]
    .filter((folder) => existsSync(join(here, folder)))
    .flatMap((folder) => readdirSync(join(here, folder), { recursive: true }).map((file) => `${folder}/${file}`))
    .filter((file) => file.endsWith('.test.js'))
  const chosen =
    wanted.length === 0
      ? files.filter((file) => !LONG_FOLDERS.some((folder) => file.startsWith(`${folder}/`)))
      : files.filter((file) =>
          wanted.some((part) => (isFolder(part) ? file.startsWith(`${part}/`) : file.includes(part))),
        )
  return chosen.sort().map((file) => join(here, file))
}

function isFolder(name: string): boolean {
  return FOLDERS.includes(name) || LONG_FOLDERS.includes(name)
}

interface Run {
  readonly env: NodeJS.ProcessEnv
  readonly timeoutMs: number
  /** Where the failures are written. */
  readonly failuresFile: string
  /** Aborted where the run is told to stop. */
  readonly stop: AbortSignal
}

async function runNode(files: readonly string[], run: Run, filesAtOnce: number): Promise<number> {
  const reporters = [
    ['--test-reporter=tap', '--test-reporter-destination=stdout'],
    [`--test-reporter=${join(here, 'support/failureReporter.js')}`, `--test-reporter-destination=${run.failuresFile}`],
  ].flat()
  const bounds = [`--test-concurrency=${filesAtOnce}`, `--test-timeout=${run.timeoutMs}`]
  const flags = ['--enable-source-maps', '--test', ...bounds, ...reporters]
  const child = spawn(process.execPath, [...flags, ...files], { stdio: 'inherit', env: { ...process.env, ...run.env } })
  const kill = () => child.kill('SIGTERM')
  run.stop.addEventListener('abort', kill, { once: true })
  const [code] = await once(child, 'exit')
  run.stop.removeEventListener('abort', kill)
  return code ?? 1
}

function readFailures(file: string): Failure[] {
  if (!existsSync(file)) return []
  const lines = readFileSync(file, 'utf8').split('\n')
  return lines.filter((line) => line !== '').map((line) => JSON.parse(line) as Failure)
}

/** The path that a compiled test file and its source share, which failures name when source maps are on. */
function moduleOf(file: string): string {
  return `/test/${relative(here, file).replace(/\.js$/, '')}.`
}

/**
 * Runs the files; those that failed, when they are few, once more by themselves, where no other test takes the time from
 * them. Prints all failures last, because the end of a log is what is kept of it.
 */
async function runFiles(files: readonly string[], run: Run): Promise<number> {
  const code = await runNode(files, run, FILES_AT_ONCE)
  const failures = readFailures(run.failuresFile)
  const failed = files.filter((file) => failures.some((failure) => failure.file.includes(moduleOf(file))))
  const isRerun = code !== 0 && !run.stop.aborted && failed.length > 0 && failed.length <= RERUN_FILES_MAX
  const again = isRerun ? await runNode(failed, run, 1) : code
  for (const { file, name, message } of failures) {
    console.error(`# failed: ${relative(process.cwd(), file)}: ${name}: ${message.split('\n', 1)[0]}`)
  }
  if (isRerun) {
    const end = again === 0 ? 'passed; a test that fails by chance is a defect of its own' : 'failed as well'
    console.error(`# second run of ${failed.length} files, alone: ${end}`)
  }
  return again
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
  const reports = makeTempDir('reports')
  process.env['SLUICE_PORT_NOTES'] = ports
  const postgres = await startPostgres({
    dir: join(servers, 'cluster'),
    logFile: join(servers, 'postgres.log'),
    settings: TEST_POSTGRES_SETTINGS,
    limits,
  })
  const commands = await CliPool.listen(join(servers, 'cli.sock'))
  try {
    const isLong = wanted.includes('long')
    const env = {
      SLUICE_TEST_DATABASE_URL: postgres.url('postgres'),
      SLUICE_TEST_TEMPLATE: await makeTemplate(postgres),
      SLUICE_TEST_REDIS: findRedis(),
      SLUICE_TEST_DIR: dir,
      SLUICE_TEST_CLI: commands.path,
      SLUICE_TEST_LONG: isLong ? '1' : '',
    }
    const timeoutMs = isLong ? LONG_TEST_TIMEOUT_MS : TEST_TIMEOUT_MS
    const stop = new AbortController()
    process.once('SIGINT', () => stop.abort()).once('SIGTERM', () => stop.abort())
    return await runFiles(files, { env, timeoutMs, failuresFile: join(reports, 'failures'), stop: stop.signal })
  } finally {
    await commands.stop()
    await stopLeftovers(dir)
    await postgres.process.stop()
    removeTempDir(dir)
    removeTempDir(postgres.dir, postgres.passwordFile, servers, ports, reports)
  }
}

process.exitCode = await main()
