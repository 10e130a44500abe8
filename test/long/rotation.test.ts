// Goal: the key of the bus and the password of the database are replaced without an interruption, by the steps of docs/operations/updates.md.
// Method: the parts of compose.yaml, whose secrets are files; while one proxy restarts, the other one answers every request.
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { after, before, test } from 'node:test'
import pg from 'pg'
import { ComposeConfig } from '../support/deploy/composeConfig.ts'
import { type Deployment, DeploymentWorld } from '../support/deploy/deployment.ts'

let world: DeploymentWorld
let config: ComposeConfig
let deployment: Deployment
before(async () => {
  world = await DeploymentWorld.start()
  config = new ComposeConfig(world)
  deployment = config.deploy()
  await deployment.start()
})
after(async () => {
  await deployment.cut()
  await world.stop()
})

/** Restarts controls, then proxies, one after the other, and serves all the while. */
async function restartByTurns(): Promise<void> {
  for (const control of deployment.controls) {
    assert.equal(await control.stop(), 0)
    await control.start()
    await deployment.serve(deployment.proxies[0], 1)
  }
  for (const [i, proxy] of deployment.proxies.entries()) {
    const other = deployment.proxies[1 - i]
    const stopped = proxy.stop()
    await deployment.serve(other, 3)
    assert.equal(await stopped, 0)
    await proxy.start()
    await deployment.ready()
    await deployment.serve(proxy, 1)
  }
}

test('the key of the bus is replaced in three turns', async () => {
  const old = config.read('secrets/bus_key').trim()
  const next = randomBytes(32).toString('hex')
  await deployment.serve(deployment.proxies[0])
  for (const keys of [`${old},${next}`, `${next},${old}`, next]) {
    config.replace('secrets/bus_key', keys)
    await restartByTurns()
  }
  await deployment.assertWhole()
})

test('the password of the database is replaced by a second user', async () => {
  const url = new URL(world.databaseUrl)
  const client = new pg.Client({ connectionString: url.href })
  await client.connect()
  const [name, password] = [`rotated_${randomBytes(4).toString('hex')}`, randomBytes(16).toString('hex')]
  await client.query(
    `CREATE ROLE ${name} LOGIN PASSWORD '${password}' IN ROLE ${client.escapeIdentifier(url.username)}`,
  )
  await client.end()
  Object.assign(url, { username: name, password })
  config.replace('secrets/database_url', url.href)
  for (const control of deployment.controls) {
    assert.equal(await control.stop(), 0)
    await control.start()
    await deployment.serve(deployment.proxies[0], 2)
  }
  await deployment.assertWhole()
  await deployment.stop()
})
