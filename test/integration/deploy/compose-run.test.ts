// Goal: what compose.yaml starts serves, by its commands, variables, mounts and secrets, and ends within its grace periods.
// Method: its parts run as processes; PostgreSQL and Redis of the tests stand for their images, Caddy runs where it is at hand.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { Agent, request } from 'node:https'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { startProgram } from '../../../bench/targets/program.ts'
import { projectRoot } from '../../../control/launch/paths.ts'
import { freePort } from '../../../control/launch/process/freePort.ts'
import { readCompose } from '../../support/deploy/compose.ts'
import { ComposeConfig } from '../../support/deploy/composeConfig.ts'
import { type Deployment, DeploymentWorld } from '../../support/deploy/deployment.ts'
import { until } from '../../support/until.ts'

let world: DeploymentWorld
let deployment: Deployment
let config: ComposeConfig
before(async () => {
  world = await DeploymentWorld.start()
  config = new ComposeConfig(world)
  deployment = config.deploy()
  await deployment.start()
})
after(async () => {
  await deployment?.cut()
  await world?.stop()
})

test('init.sh makes each secret once, in a folder that others do not enter', () => {
  assert.equal(statSync(config.folder).mode & 0o777, 0o700)
  const read = () => Object.keys(readCompose().secrets).map((name) => config.read(`secrets/${name}`))
  const first = read()
  assert.equal(new Set(first).size, first.length)
  for (const text of first) assert.notEqual(text.trim(), '')
  config.initialize()
  assert.deepEqual(read(), first)
})

test('both proxies serve, and requests are in the book', async () => {
  for (const proxy of deployment.proxies) await deployment.serve(proxy)
  await deployment.assertWhole()
})

test('clients reach them through Caddy by TLS, also while one proxy leaves', async (t) => {
  if (spawnSync('caddy', ['version']).error !== undefined) return t.skip('caddy is not here')
  const ports = deployment.proxies.map(({ url }) => url.replace('http://', ''))
  const httpPort = await freePort()
  const caddy = await startProgram({
    name: 'caddy',
    command: 'caddy',
    env: { DOMAIN: 'localhost', PROXIES: ports.join(' '), HOME: world.dir, XDG_DATA_HOME: world.dir },
    prepare: (folder, port) => {
      const text = readFileSync(join(projectRoot, 'deploy/compose/Caddyfile'), 'utf8')
      const options = `skip_install_trust\n\tadmin off\n\tlog {\n\t\tlevel ERROR\n\t}\n\thttp_port ${httpPort}\n\thttps_port ${port}`
      writeFileSync(join(folder, 'Caddyfile'), text.replace('skip_install_trust', options))
      return ['run', '--adapter', 'caddyfile', '--config', join(folder, 'Caddyfile')]
    },
  })
  const agent = new Agent({ rejectUnauthorized: false, keepAlive: true })
  const status = (): Promise<number> =>
    new Promise((resolve) => {
      const path = `https://localhost:${caddy.port}/v1/models`
      const call = request(path, { agent }, (answer) => {
        answer.resume().once('end', () => resolve(answer.statusCode ?? 0))
      })
      call.once('error', () => resolve(0)).end()
    })
  try {
    await until('Caddy serves', async () => (await status()) === 200)
    const [first] = deployment.proxies
    const left = first?.stop()
    let over = false
    void left?.then(() => (over = true))
    const seen: number[] = []
    while (!over) seen.push(await status())
    assert.equal(await left, 0)
    assert.deepEqual(
      seen.filter((one) => one !== 200),
      [],
      `of ${seen.length}`,
    )
    await first?.start()
  } finally {
    agent.destroy()
    await caddy.stop()
  }
})

test('a proxy and a control that are killed come back with their volumes, and nothing is lost', async () => {
  const [first, second] = deployment.proxies
  await deployment.serve(first)
  await first?.kill9()
  await deployment.controls[0]?.kill9()
  await deployment.serve(second)
  await first?.start()
  await deployment.controls[0]?.start()
  await deployment.ready()
  await deployment.serve(first)
  await deployment.assertWhole()
})

test('all parts end by themselves within their grace periods', async () => {
  await deployment.stop()
})
