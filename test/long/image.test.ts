// Goal: the image that deploy/Dockerfile describes is small, has nothing of development, and runs control and proxy as its user with a
// read-only root. Method: its steps are replayed in roots that mmdebstrap makes, since no engine is here; bwrap runs it.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { chownSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { projectRoot } from '../../control/launch/paths.ts'
import { freePort } from '../../control/launch/process/freePort.ts'
import { ManagedProcess } from '../../control/launch/process/managedProcess.ts'
import { DeploymentWorld } from '../support/deploy/deployment.ts'
import { imageEnvironment, imageStage } from '../support/deploy/dockerfile.ts'
import { imageNodeMajor, ReplayedImage } from '../support/deploy/replayedImage.ts'
import { limits } from '../support/limits.ts'
import { TEST_BUS_KEY } from '../support/parts/sealedCalls.ts'
import { makeTempDir, removeTempDir } from '../support/tempDir.ts'

const BYTES_MAX = 250_000_000
const USER = 65532
const VOLUME = '/var/lib/sluice'
const SECRETS = '/run/secrets'
const STOP_TIMEOUT_MS = 45_000
const missing = ['mmdebstrap', 'bwrap'].filter((program) => spawnSync(program, ['--version']).error !== undefined)
const skip =
  (process.getuid?.() !== 0 && 'only root changes the root') ||
  (missing.length > 0 && `${missing.join(', ')} is not here`)

let world: DeploymentWorld
let dir: string
let root: string
before(async () => {
  if (skip !== false) return
  world = await DeploymentWorld.start()
  dir = makeTempDir('image')
  root = new ReplayedImage(dir, { NODE_VERSION: String(imageNodeMajor()), REVISION: 'test' }).build()
})
after(async () => {
  if (skip !== false) return
  await world.stop()
  removeTempDir(dir)
})

/** A program in the image, with its user, its environment, a volume, secrets, and nothing else that it may write. */
function program(
  name: string,
  words: readonly string[],
  more: NodeJS.ProcessEnv = {},
): [string, string[], NodeJS.ProcessEnv] {
  const volume = join(world.dir, 'volumes', name)
  const secrets = join(world.dir, 'image-secrets')
  mkdirSync(volume, { recursive: true, mode: 0o700 })
  chownSync(volume, USER, USER)
  const user =
    imageStage()
      .steps.find(({ instruction }) => instruction === 'USER')
      ?.text.split(':') ?? []
  const entry = imageStage().steps.find(({ instruction }) => instruction === 'ENTRYPOINT')?.text ?? '[]'
  const mounts = ['--ro-bind', root, '/', '--proc', '/proc', '--dev', '/dev', '--bind', volume, VOLUME]
  const memory = ['/tmp', '/run', '/dev/shm'].flatMap((path) => ['--perms', '1777', '--tmpfs', path])
  const own = [...memory, '--ro-bind', secrets, SECRETS]
  const become = ['setpriv', '--reuid', user[0] ?? '', '--regid', user[1] ?? '', '--clear-groups', '--no-new-privs']
  const args = [...mounts, ...own, '--unshare-pid', '--as-pid-1', '--chdir', '/opt/sluice', '--', ...become]
  const env = { PATH: '/usr/local/bin:/usr/bin:/bin', ...imageEnvironment(), HOST: '127.0.0.1', ...more }
  return ['bwrap', [...args, ...(JSON.parse(entry) as string[]), ...words], env]
}

function start(name: string, metrics: string, more: NodeJS.ProcessEnv): ManagedProcess {
  const [command, args, env] = program(name, [name], more)
  const probe = async (): Promise<boolean> => {
    try {
      return (await fetch(`http://127.0.0.1:${metrics}/ready`)).ok
    } catch {
      return false
    }
  }
  const logFile = join(world.dir, `image-${name}.log`)
  return new ManagedProcess({
    name,
    command,
    args,
    env,
    logFile,
    probe,
    stopSignal: 'SIGTERM',
    stopTimeoutMs: STOP_TIMEOUT_MS,
    limits,
  })
}

test('it is small, and has nothing of development and no package manager of Node.js', { skip }, (t) => {
  const bytes = Number(spawnSync('du', ['-sb', '-x', root], { encoding: 'utf8' }).stdout.split('\t')[0])
  t.diagnostic(`${Math.round(bytes / 1e6)} MB`)
  assert.ok(bytes < BYTES_MAX, `${bytes} bytes`)
  const packages = join(root, 'opt/sluice/node_modules')
  const given = JSON.parse(readFileSync(join(projectRoot, 'package.json'), 'utf8')) as Record<
    string,
    Record<string, string>
  >
  const production = new Set(Object.keys(given['dependencies'] ?? {}))
  const transitive = new Set(Object.keys(lockedProduction()))
  for (const name of Object.keys({ ...given['devDependencies'], ...given['optionalDependencies'] }))
    if (!production.has(name) && !transitive.has(name))
      assert.ok(!existsSync(join(packages, name)), `${name} is in the image`)
  for (const name of ['usr/local/bin/npm', 'opt/sluice/dist/test', 'opt/sluice/dist/bench', 'opt/sluice/dist/mock'])
    assert.ok(!existsSync(join(root, name)), name)
  const sbom = JSON.parse(readFileSync(join(root, 'opt/sluice/sbom.json'), 'utf8')) as {
    components: { name: string }[]
  }
  const listed = new Set(sbom.components.map(({ name }) => name))
  for (const name of readdirSync(packages).filter((one) => !/^[.@]/.test(one)))
    assert.ok(listed.has(name), `${name} is not in the list`)
})

/** Packages that production needs although development names them as well. */
function lockedProduction(): Record<string, unknown> {
  const lock = JSON.parse(readFileSync(join(projectRoot, 'package-lock.json'), 'utf8')) as {
    packages: Record<string, { dev?: boolean; devOptional?: boolean; optional?: boolean }>
  }
  const kept = Object.entries(lock.packages).filter(([, one]) => !one.dev && !one.devOptional && !one.optional)
  return Object.fromEntries(kept.map(([path, one]) => [path.replace('node_modules/', ''), one]))
}

test('control and proxy run in it as its user, serve a request, and end at SIGTERM', { skip }, async () => {
  const secrets = join(world.dir, 'image-secrets')
  mkdirSync(secrets)
  const files = {
    database_url: world.databaseUrl,
    redis_url: world.redis.url,
    bus_key: TEST_BUS_KEY,
    'catalog.yaml': world.catalog,
  }
  for (const [name, text] of Object.entries(files)) writeFileSync(join(secrets, name), text, { mode: 0o444 })
  const [port, proxyMetrics, controlMetrics] = [
    String(await freePort()),
    String(await freePort()),
    String(await freePort()),
  ]
  const shared = { REDIS_URL_FILE: `${SECRETS}/redis_url`, SLUICE_BUS_KEY_FILE: `${SECRETS}/bus_key` }
  const book = { ...shared, DATABASE_URL_FILE: `${SECRETS}/database_url`, SLUICE_CATALOG: `${SECRETS}/catalog.yaml` }
  const migrated = run('migrate', ['migrate'], book)
  assert.equal(migrated.status, 0, migrated.stdout + migrated.stderr)
  const control = start('control', controlMetrics, { ...book, SLUICE_CONTROL_METRICS_PORT: controlMetrics })
  const own = { ...shared, PORT: port, SLUICE_METRICS_PORT: proxyMetrics, SLUICE_TEST_PROVIDER_KEY: 'provider-key' }
  const proxy = start('proxy', proxyMetrics, own)
  try {
    await control.start()
    await proxy.start()
    const created = run('command', ['account', 'create', '--credits', '10', '--json'], book)
    const { api_key: apiKey } = JSON.parse(created.stdout) as { api_key: string }
    await world.serves(`http://127.0.0.1:${port}`, apiKey)
    const [worker] = spawnSync('pgrep', ['-f', 'dist/proxy/worker.js'], { encoding: 'utf8' }).stdout.split('\n')
    const status = readFileSync(`/proc/${worker}/status`, 'utf8')
    assert.match(status, new RegExp(`^Uid:\\s+${USER}\\s+${USER}`, 'm'))
    for (const [part, metrics] of [
      ['SLUICE_METRICS_PORT', proxyMetrics],
      ['SLUICE_CONTROL_METRICS_PORT', controlMetrics],
    ] as const) {
      const health = spawnSync('chroot', [root, 'node', '/opt/sluice/health.mjs', '/ready'], {
        env: { PATH: '/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin', [part]: metrics },
      })
      assert.equal(health.status, 0, part)
    }
    for (const one of [proxy, control]) await endsBySigterm(one)
  } finally {
    for (const one of [proxy, control]) await one.cut()
  }
})

function run(name: string, words: readonly string[], env: NodeJS.ProcessEnv) {
  const [command, args, all] = program(name, words, env)
  return spawnSync(command, args, { env: all, encoding: 'utf8' })
}

/** As an engine does: the signal is for process 1 of the container, and its status is that of the container. */
async function endsBySigterm(part: ManagedProcess): Promise<void> {
  const first = spawnSync('pgrep', ['-P', String(part.pid)], { encoding: 'utf8' }).stdout.trim()
  const ended = new Promise<void>((resolve) => {
    part.onUnexpectedExit = () => resolve()
  })
  process.kill(Number(first), 'SIGTERM')
  await ended
  assert.deepEqual(part.lastExit, { code: 0, signal: null })
}
