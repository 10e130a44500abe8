import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { startPostgres } from '../control/launch/postgres.ts'
import { stopLeftover } from '../control/launch/process/leftover.ts'
import { findRedis } from '../control/launch/redis.ts'
import { CliPool } from './support/cliPool.ts'
import { limits } from './support/limits.ts'
import { type FileResult, runInLanes } from './support/runner/lanes.ts'
import { FOLDERS_VARIABLE, POSTMASTER_VARIABLE } from './support/runner/leftRun.ts'
import { makeTemplate, TEST_POSTGRES_SETTINGS } from './support/services.ts'
import { makeTempDir, removeTempDir } from './support/tempDir.ts'

const FOLDERS = ['unit', 'integration', 'clients', 'wires']
/** Tests that take long: they run where the arguments name them. */
const LONG_FOLDERS = ['faults', 'long']
// Tests wait for processes to start and for times to pass, so two cores have work for four of them.
const FILES_AT_ONCE = 4
const TEST_TIMEOUT_MS = 1_200_000
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
      : files.filter((file) => wanted.some((part) => names(part, file)))
  return chosen.sort().map((file) => join(here, file))
}

/** Whether an argument names a file. `long` names the files that do more in the long part as well. */
function names(part: string, file: string): boolean {
  if (!isFolder(part)) return file.includes(part)
  return file.startsWith(`${part}/`) || (part === 'long' && hasRounds(file))
}

function hasRounds(file: string): boolean {
  return readFileSync(join(here, file), 'utf8').includes('/support/rounds.js')
}

function isFolder(name: string): boolean {
  return FOLDERS.includes(name) || LONG_FOLDERS.includes(name)
}

/** Prints how each file ended and, last, because the end of a log is what is kept of it, all that failed. */
class Report {
  private readonly files: number
  private readonly ended: FileResult[] = []

  constructor(files: number) {
    this.files = files
  }

  get failed(): boolean {
    return this.ended.length < this.files || this.ended.some(({ failures }) => failures.length > 0)
  }

  readonly add = (result: FileResult): void => {
    this.ended.push(result)
    const { failures, notes, durationMs, end } = result
    const place = `${this.ended.length}/${this.files}`
    const seconds = `${(durationMs / 1_000).toFixed(1)} s, ${(end?.cpuSeconds ?? 0).toFixed(1)} of the processor`
    console.log(`${failures.length === 0 ? 'ok' : 'not ok'} ${place} ${sourceOf(result.file)} (${seconds})`)
    if (end !== undefined && end.leftOpen.length > 0) console.log(`  # left open: ${end.leftOpen.join(', ')}`)
    for (const note of notes) console.log(`  # ${note}`)
    for (const { name, text } of failures) console.log(`  ${name}\n${text.replace(/^/gm, '    ')}`)
  }

  end(): void {
    const passed = this.ended.reduce((sum, { end }) => sum + (end?.passed ?? 0), 0)
    const failures = this.ended.flatMap(({ file, failures }) => failures.map((failure) => ({ file, ...failure })))
    console.log(`# ${this.ended.length} of ${this.files} files, ${passed} tests passed, ${failures.length} failed`)
    for (const { file, name, text } of failures) {
      console.error(`# failed: ${sourceOf(file)}: ${name}: ${text.split('\n', 1)[0]}`)
    }
  }
}

function isInLongFolder(file: string): boolean {
  return LONG_FOLDERS.some((folder) => sourceOf(file).startsWith(`${folder}/`))
}

/** The path of a test file as the argument of a run may name it. */
function sourceOf(file: string): string {
  return relative(here, file).replace(/\.js$/, '')
}

/** Of this process and all that it has started, by Linux. */
function cpuSeconds(): number {
  const fields = readFileSync('/proc/self/stat', 'utf8').split(') ')[1]?.split(' ') ?? []
  return fields.slice(11, 15).reduce((sum, ticks) => sum + Number(ticks), 0) / 100
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
  const folders = [dir, postgres.dir, postgres.passwordFile, servers, ports]
  const commands = await CliPool.listen(join(servers, 'cli.sock'))
  const report = new Report(files.length)
  try {
    const isLong = wanted.includes('long')
    const env = {
      SLUICE_TEST_DATABASE_URL: postgres.url('postgres'),
      SLUICE_TEST_TEMPLATE: await makeTemplate(postgres),
      SLUICE_TEST_REDIS: findRedis(),
      SLUICE_TEST_DIR: dir,
      SLUICE_TEST_CLI: commands.path,
      SLUICE_TEST_LONG: isLong ? '1' : '',
      [POSTMASTER_VARIABLE]: join(postgres.dir, 'postmaster.pid'),
      [FOLDERS_VARIABLE]: folders.join(':'),
    }
    const stop = new AbortController()
    process.once('SIGINT', () => stop.abort()).once('SIGTERM', () => stop.abort())
    await runInLanes(files, {
      env,
      lanes: Math.min(FILES_AT_ONCE, files.length),
      timeoutMs: files.some(isInLongFolder) ? LONG_TEST_TIMEOUT_MS : TEST_TIMEOUT_MS,
      stop: stop.signal,
      onEnd: report.add,
    })
  } finally {
    await commands.stop()
    await stopLeftovers(dir)
    await postgres.process.stop()
    removeTempDir(...folders)
  }
  report.end()
  if (process.env['SLUICE_TEST_CPU'] === '1') console.log(`# processor time of all: ${cpuSeconds()} s`)
  return report.failed ? 1 : 0
}

process.exitCode = await main()
