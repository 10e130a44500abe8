// Goal: what `make run` starts is closed to the other users of the machine, and each part knows no more than it needs.
// Method: it is run with secrets in its environment, in a folder whose path is too long for a socket; then the processes,
// the files and the ways to Redis are looked at, as another user too where the test may become one.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { connectRedis } from '../../../contract/wire/redis.ts'
import { NoteKey } from '../../../control/book/checkpoint/noteKey.ts'
import { CatalogKey } from '../../../control/catalog/signing/catalogKey.ts'
import { provideCatalogKey } from '../../../control/launch/catalogKey.ts'
import { provideLogKey } from '../../../control/launch/logKey.ts'
import { freePort } from '../../../control/launch/process/freePort.ts'
import { interrupt, launch, type Run, running } from '../../support/launchedRun.ts'
import { makeTempDir, removeTempDir } from '../../support/tempDir.ts'

const NOBODY = 65_534
const CANARY = 'canary-secret-42'
const IS_LINUX = existsSync('/proc/self/environ')

let dir: string
let data: string
let run: Run
let baseUrl: string

before(async () => {
  dir = makeTempDir('private')
  const long = join(dir, 'a folder'.repeat(8))
  mkdirSync(long)
  chmodSync(long, 0o755)
  data = join(long, '.sluice')
  // As an earlier version, or a careless umask, has left it.
  mkdirSync(data, { mode: 0o755 })
  const env = { CANARY_API_KEY: CANARY, SLUICE_TREASURY_KEY: `0x${'7'.repeat(64)}`, OPENAI_API_KEY: CANARY }
  const port = await freePort()
  baseUrl = `http://127.0.0.1:${port}`
  run = launch(long, port, env)
  await running(run)
})

after(async () => {
  await interrupt(run)
  assert.equal(existsSync(`${redisSocket()}`), false, 'the socket is gone')
  removeTempDir(dir)
})

let knownSocket: string | undefined
function redisSocket(): string {
  if (knownSocket === undefined) {
    const { redis_url } = JSON.parse(readFileSync(join(data, 'run.json'), 'utf8')) as { redis_url: string }
    assert.match(redis_url, /^unix:\/\//)
    knownSocket = redis_url.slice('unix://'.length)
  }
  return knownSocket
}

/** Command line and environment of everything that the run has started. */
function descendants(): { command: string; environment: string }[] {
  const parents = new Map<number, number>()
  for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
    try {
      const [, parent = ''] = /\) \S (\d+)/.exec(readFileSync(`/proc/${pid}/stat`, 'utf8')) ?? []
      parents.set(Number(pid), Number(parent))
    } catch {
      // It has just ended.
    }
  }
  const isOurs = (pid: number): boolean => {
    const parent = parents.get(pid)
    return parent !== undefined && (parent === run.child.pid || isOurs(parent))
  }
  return [...parents.keys()].filter(isOurs).flatMap((pid) => {
    try {
      const command = readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ')
      return [{ command, environment: readFileSync(`/proc/${pid}/environ`, 'utf8') }]
    } catch {
      // It has just ended, as connections of PostgreSQL do.
      return []
    }
  })
}

test('every process has only the secrets that it needs, and no command line contains a secret', {
  skip: !IS_LINUX && 'only Linux shows the environment of a process',
}, () => {
  const parts = descendants()
  for (const name of ['postgres', 'redis-server', 'anvil', 'mock/main.js', 'control/main.js', 'proxy/main.js']) {
    const found = parts.filter(({ command }) => command.includes(name))
    assert.ok(found.length > 0, `${name} runs`)
    for (const { command, environment } of found) {
      assert.ok(!environment.includes(CANARY), command)
      assert.equal(environment.includes('SLUICE_TREASURY_KEY'), name === 'control/main.js', command)
      assert.equal(environment.includes('SLUICE_LOG_KEY'), name === 'control/main.js', command)
      assert.equal(environment.includes('SLUICE_CATALOG_KEY'), name === 'control/main.js', command)
      assert.equal(environment.includes('SLUICE_BUS_KEY'), /(control|proxy)\/main/.test(name), command)
      assert.equal(environment.includes('DATABASE_URL'), name === 'control/main.js', command)
    }
  }
  const secrets = [
    CANARY,
    ...['postgres.password', 'postgres.new.password', 'log.key', 'catalog.key'].map(readIfThere),
  ].filter((text) => text !== '')
  assert.ok(secrets.length > 1, 'the password of the database is known')
  for (const { command } of parts) for (const secret of secrets) assert.ok(!command.includes(secret), command)
})

test('the key that signs checkpoints is generated once', () => {
  const key = NoteKey.of(readIfThere('log.key'))
  assert.match(key.name, /^[0-9a-f]{8}\.localhost\/v1\/log$/)
  assert.equal(provideLogKey(data), readIfThere('log.key'))
})

test('the key that signs the catalog is generated once, and signs it', async () => {
  const secret = readIfThere('catalog.key')
  assert.equal(provideCatalogKey(data), secret)
  const { address } = (await (await fetch(`${baseUrl}/v1/catalog/signer`)).json()) as { address: string }
  assert.equal(address, CatalogKey.of(secret).keys.address)
})

function readIfThere(name: string): string {
  return existsSync(join(data, name)) ? readFileSync(join(data, name), 'utf8').trim() : ''
}

/** Every file and folder below `folder` that is made by this user, with its mode. */
function modesBelow(folder: string): [path: string, mode: number][] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name)
    const own: [string, number] = [path, statSync(path).mode & 0o777]
    return entry.isDirectory() && entry.name !== 'postgres' ? [own, ...modesBelow(path)] : [own]
  })
}

test('the data folder and its files are not accessible to other users', () => {
  // Root's PostgreSQL runs as another user, whose group may pass through.
  const group = process.getuid?.() === 0 ? 0o010 : 0
  assert.equal(statSync(data).mode & 0o077 & ~group, 0)
  for (const [path, mode] of modesBelow(data)) assert.equal(mode & 0o077, 0, `${path} has mode ${mode.toString(8)}`)
  assert.equal(statSync(redisSocket()).mode & 0o077, 0)
})

test('Redis has no port; its socket is accessible only to this user', async () => {
  const redis = connectRedis(`unix://${redisSocket()}`, { failAfterMs: 30_000 })
  try {
    await new Promise((ready) => redis.once('ready', ready))
    assert.deepEqual(await redis.config('GET', 'port'), ['port', '0'])
  } finally {
    redis.disconnect()
  }
  await new Promise<void>((done, failed) => {
    const socket = connect(redisSocket(), () => {
      socket.destroy()
      done()
    })
    socket.once('error', failed)
  })
})

test('another user cannot connect to Redis, nor read the data', {
  skip: process.getuid?.() !== 0 && 'only root can become another user',
}, () => {
  const script = `
    const { connect } = require('node:net')
    const { readdirSync, readFileSync } = require('node:fs')
    const [socket, data] = process.argv.slice(1)
    const refused = (work) => { try { work(); return 'done' } catch ({ code }) { return code } }
    const answers = [refused(() => readdirSync(data)), refused(() => readFileSync(data + '/demo.json'))]
    connect(socket).on('connect', () => answers.push('connected')).on('error', ({ code }) => answers.push(code))
      .on('close', () => process.stdout.write(answers.join(' '))).setTimeout(1000, function () { this.destroy() })`
  const done = spawnSync(process.execPath, ['-e', script, redisSocket(), data], {
    uid: NOBODY,
    gid: NOBODY,
    cwd: '/',
    encoding: 'utf8',
  })
  assert.equal(done.stdout, 'EACCES EACCES EACCES', done.stderr)
})
