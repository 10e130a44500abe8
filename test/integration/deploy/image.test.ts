// Goal: deploy/Dockerfile copies what exists and what .dockerignore leaves, sets variables that exist, runs as no root, and the
// programs that it adds do what it says. Method: its steps are read; the added programs run here. test/long/image.test.ts builds it.
import assert from 'node:assert/strict'
import { execFile, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { variableNames } from '../../../contract/schemas/environment.ts'
import { projectRoot } from '../../../control/launch/paths.ts'
import { copied, imageEnvironment, imageStage, imageStages } from '../../support/deploy/dockerfile.ts'
import { RunningPart } from '../../support/deploy/runningPart.ts'
import { makeTempDir, removeTempDir } from '../../support/tempDir.ts'

const dir = makeTempDir('image')
after(() => removeTempDir(dir))

const stages = imageStages()
const part = { name: 'image', args: [], environment: {}, mounts: [], stopGraceMs: 10_000 }

/** The words of an instruction of the image that is written as a JSON list. */
function listOf(instruction: string): string[] {
  const text = imageStage().steps.find((step) => step.instruction === instruction)?.text ?? ''
  return JSON.parse(text.slice(text.indexOf('['))) as string[]
}

test('what is copied exists, and .dockerignore leaves it', () => {
  const left = readFileSync(join(projectRoot, '.dockerignore'), 'utf8').split('\n')
  assert.ok(left.includes('*'), 'all is left out but what is named')
  for (const name of left.filter((line) => line.startsWith('!')))
    assert.ok(existsSync(join(projectRoot, name.slice(1))), `${name} does not exist`)
  const copies = stages.flatMap(({ steps }) => steps.filter(({ instruction }) => instruction === 'COPY'))
  for (const { from, sources } of copies.map(copied)) {
    if (from !== undefined)
      assert.ok(
        stages.some(({ name }) => name === from),
        `no stage ${from}`,
      )
    for (const source of from === undefined ? sources.filter((one) => one !== '.') : []) {
      assert.ok(existsSync(join(projectRoot, source)), `${source} does not exist`)
      const isLeft = left.some((line) => line === `!${source}` || source.startsWith(`${line.slice(1)}/`))
      assert.ok(isLeft, `.dockerignore leaves out ${source}`)
    }
  }
})

test('its variables are those of the programs, and its paths lie where it may write', () => {
  const known = new Set([...variableNames('make run'), 'NODE_ENV'])
  const environment = imageEnvironment()
  assert.deepEqual(
    Object.keys(environment).filter((name) => !known.has(name)),
    [],
  )
  assert.equal(environment['NODE_ENV'], 'production')
  for (const name of ['SLUICE_DATA', 'SLUICE_ARCHIVE'])
    assert.match(environment[name] ?? '', /^\/var\/lib\/sluice\//, `${name} is in the volume`)
})

test('it runs as a user without a name and without root, below a process that reaps', () => {
  const { steps, base } = imageStage()
  assert.equal(base, 'docker.io/library/debian:trixie-slim')
  assert.equal(steps.findLast(({ instruction }) => instruction === 'USER')?.text, '65532:65532')
  assert.equal(listOf('ENTRYPOINT')[0], '/usr/bin/tini')
  const files = [...listOf('ENTRYPOINT'), ...listOf('HEALTHCHECK')].filter((word) => word.startsWith('/opt/sluice/'))
  assert.equal(files.length, 2)
  const target = (path: string) => `deploy/image/${path.slice('/opt/sluice/'.length)}`
  for (const path of files) assert.ok(existsSync(join(projectRoot, target(path))), path)
})

test('its entry point starts each part and the command line', async () => {
  const image = new RunningPart(part, dir)
  const help = await image.run(...listOf('CMD'))
  assert.equal(help.code, 0, help.stderr)
  assert.match(help.stdout, /^Usage: .*GROUP COMMAND/)
  assert.match(help.stdout, /\n {2}migrate /)
  for (const [name, needed] of [
    ['proxy', 'SLUICE_BUS_KEY'],
    ['control', 'DATABASE_URL'],
  ] as const) {
    const refused = await image.run(name)
    assert.equal(refused.code, 1)
    assert.match(refused.stdout + refused.stderr, new RegExp(`${needed} is not set`), name)
  }
  assert.match((await image.run('no-such')).stderr, /there is no "no-such"/)
})

test('its programs leave no core dumps, which would have their secrets', () => {
  const programs = join(dir, 'programs')
  mkdirSync(programs)
  writeFileSync(join(programs, 'node'), '#!/bin/sh\nulimit -S -c\nulimit -H -c\n', { mode: 0o755 })
  const entry = join(projectRoot, 'deploy/image/entrypoint.sh')
  for (const part of ['proxy', 'control', 'migrate']) {
    const { stdout, stderr } = spawnSync(
      '/bin/sh',
      ['-c', 'ulimit -S -c unlimited; exec /bin/sh "$@"', 'sh', entry, part],
      {
        env: { PATH: `${programs}:${process.env['PATH']}` },
        encoding: 'utf8',
      },
    )
    assert.equal(stdout, '0\n0\n', `${part}: ${stderr}`)
  }
})

test('native code that a package lacks for an architecture is compiled, or no image is made', () => {
  const step = stages[0]?.steps.find(({ text }) => text.includes('npm rebuild'))?.text ?? ''
  /** @returns the status of the step, and the programs that it called */
  const build = (name: string, hasBinary: boolean, compiles: boolean): [status: number | null, calls: string[]] => {
    const folder = join(dir, name)
    const [programs, code] = [join(folder, 'programs'), join(folder, 'node_modules/secp256k1')]
    for (const path of [programs, code]) mkdirSync(path, { recursive: true })
    writeFileSync(join(code, 'bindings.js'), `require('./binary.js')`)
    const binary = join(code, 'binary.js')
    if (hasBinary) writeFileSync(binary, '')
    const noted = `#!/bin/sh\necho "$(basename "$0") $1" >> ${folder}/calls\n`
    writeFileSync(join(programs, 'apt-get'), noted, { mode: 0o755 })
    writeFileSync(join(programs, 'npm'), `${noted}${compiles ? `: > ${binary}\n` : ''}`, { mode: 0o755 })
    const env = { PATH: `${programs}:${process.env['PATH']}` }
    const { status } = spawnSync('/bin/sh', ['-c', step], { cwd: folder, env })
    const calls = existsSync(join(folder, 'calls')) ? readFileSync(join(folder, 'calls'), 'utf8') : ''
    return [status, calls.split('\n').filter(Boolean)]
  }
  assert.deepEqual(build('has-binary', true, false), [0, []])
  assert.deepEqual(build('compiles', false, true), [0, ['apt-get update', 'apt-get install', 'npm rebuild']])
  const [status, calls] = build('compiles-not', false, false)
  assert.notEqual(status, 0)
  assert.equal(calls.at(-1), 'npm rebuild')
})

test('its health check says what the part answers', async () => {
  const script = join(projectRoot, 'deploy/image/health.mjs')
  let status = 200
  const server = createServer((request, response) => {
    response.writeHead(request.url === '/live' ? 200 : status).end()
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const port = String((server.address() as AddressInfo).port)
  const check = (path: string, env: NodeJS.ProcessEnv): Promise<boolean> =>
    new Promise(
      (resolve) => void execFile(process.execPath, [script, path], { env }, (error) => resolve(error === null)),
    )
  try {
    assert.equal(await check('/ready', { SLUICE_METRICS_PORT: port, SLUICE_CONTROL_METRICS_PORT: '1' }), true)
    status = 503
    assert.equal(await check('/ready', { SLUICE_METRICS_PORT: port }), false)
    assert.equal(await check('/live', { SLUICE_METRICS_PORT: '1', SLUICE_CONTROL_METRICS_PORT: port }), true)
    assert.equal(await check('/live', { SLUICE_METRICS_PORT: '1' }), false)
  } finally {
    server.close()
  }
})

test('its packages are slimmed to what programs read', () => {
  const folder = join(dir, 'packages')
  const write = (path: string): void => {
    mkdirSync(join(folder, path, '..'), { recursive: true })
    writeFileSync(join(folder, path), '')
  }
  const kept = ['a/LICENSE', 'a/index.js', 'a/package.json', 'b/x.mjs', 'b/y.wasm']
  for (const path of [...kept, 'a/index.d.ts', 'a/index.js.map', 'b/x.mts', 'viem/_cjs/index.js']) write(path)
  assert.equal(spawnSync(process.execPath, [join(projectRoot, 'deploy/image/slim.mjs'), folder]).status, 0)
  const left = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile())
  assert.deepEqual(left.map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1)).sort(), kept)
})
