// Goal: what deploy/k8s deploys serves, and survives the loss of a control, of a proxy's container and pod, and of Redis; no receipt is
// lost and the audit is clean. Method: the pods of the rendered overlay run as processes by their commands, variables and mounts.
import { spawnSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { Deployment, DeploymentWorld } from '../support/deploy/deployment.ts'
import { kubernetesParts, renderOverlay } from '../support/deploy/kubernetes.ts'
import { TEST_CATALOG_KEY, TEST_LOG_KEY } from '../support/logKey.ts'
import { TEST_BUS_KEY } from '../support/parts/sealedCalls.ts'

/** Pods of each kind that run here. */
const PODS_MAX = 2
const skip = spawnSync('kubectl', ['version', '--client']).status !== 0 && 'kubectl is not here'

describe('the pods of the overlay production', { skip }, () => {
  let world: DeploymentWorld
  let deployment: Deployment
  before(async () => {
    world = await DeploymentWorld.start()
    const objects = renderOverlay('production')
    const secrets = join(world.dir, 'secrets')
    writeSecret(join(secrets, 'sluice'), {
      'database-url': world.databaseUrl,
      'redis-url': world.redis.url,
      'bus-key': TEST_BUS_KEY,
      'log-key': TEST_LOG_KEY,
      'catalog-key': TEST_CATALOG_KEY,
    })
    writeSecret(join(secrets, 'sluice-provider-keys'), {})
    const catalog = objects.find(({ data }) => data?.['catalog.yaml'] !== undefined)
    Object.assign(catalog?.data ?? {}, { 'catalog.yaml': world.catalog })
    const parts = kubernetesParts(objects, secrets, world.dir)
    const some = parts.filter(({ name }) => Number(name.split('-').at(-1)) < PODS_MAX)
    deployment = new Deployment(some, world)
    await deployment.start()
  })
  after(async () => {
    await deployment?.cut()
    await world?.stop()
  })

  test('serve', async () => {
    for (const proxy of deployment.proxies) await deployment.serve(proxy)
    await deployment.assertWhole()
  })

  test('survive the loss of a control', async () => {
    const [control] = deployment.controls
    await control?.kill9()
    await deployment.serve(deployment.proxies[0])
    await deployment.assertWhole()
    await control?.start()
  })

  test('survive the loss of the container of a proxy, and of its pod', async () => {
    const [proxy, other] = deployment.proxies
    for (const lose of [() => proxy?.kill9(), () => proxy?.lose()]) {
      await deployment.serve(proxy)
      await deployment.onDisk(proxy)
      await lose()
      await deployment.serve(other)
      await proxy?.start()
      await deployment.ready()
      await deployment.assertWhole()
    }
  })

  test('survive the loss of Redis', async () => {
    await deployment.serve(deployment.proxies[0])
    await world.redis.kill9()
    await world.redis.restart()
    for (const proxy of deployment.proxies) {
      await deployment.servesAgain(proxy)
      await deployment.serve(proxy)
    }
    await deployment.assertWhole()
  })

  test('end by themselves within their grace periods', async () => {
    await deployment.stop()
  })
})

function writeSecret(folder: string, files: Readonly<Record<string, string>>): void {
  mkdirSync(folder, { recursive: true })
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text)
}
