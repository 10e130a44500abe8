// Goal: an installation of compose.yaml is restored from its volumes `backup` and of the journals, as docs/operations/backups.md says,
// and serves on. Method: PostgreSQL of the tests with the settings of compose.yaml; the cluster and Redis are lost together.
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import type { Lost } from '../../control/audit/lostSince.ts'
import { postgresSettings, readCompose } from '../support/deploy/compose.ts'
import { ComposeConfig } from '../support/deploy/composeConfig.ts'
import { type Deployment, DeploymentWorld } from '../support/deploy/deployment.ts'
import { volumeFolder } from '../support/deploy/runningPart.ts'
import { ArchivedPostgres } from '../support/parts/archivedPostgres.ts'
import { startTestRedis, type TestServer } from '../support/services.ts'
import { makeTempDir, removeTempDir } from '../support/tempDir.ts'

const BACKUP = '/backup'
/** Sized for a server of its own, and no matter of the drill. */
const TOO_LARGE = ['max_wal_size', 'checkpoint_timeout']

const disk = makeTempDir('backup')
let postgres: ArchivedPostgres
let world: DeploymentWorld
let config: ComposeConfig
const running: Deployment[] = []
const servers: TestServer[] = []
before(async () => {
  const settings = Object.entries(postgresSettings(readCompose())).filter(([name]) => !TOO_LARGE.includes(name))
  const backup = volumeFolder(disk, 'backup')
  const local = settings.map(([name, value]) => [name, value.replaceAll(BACKUP, backup)])
  postgres = new ArchivedPostgres(join(backup, 'wal'), Object.fromEntries(local))
  world = await DeploymentWorld.start(await postgres.start())
  config = new ComposeConfig(world)
})
after(async () => {
  for (const deployment of running) await deployment.cut()
  await Promise.all(servers.map((server) => server.stop()))
  await world.stop()
  await postgres.stop()
  removeTempDir(disk)
})

test('what the volumes have comes back, the drill holds, and the parts serve on', async () => {
  const deployment = config.deploy()
  running.push(deployment)
  await deployment.start()
  for (const proxy of deployment.proxies) await deployment.serve(proxy)
  await deployment.assertWhole()
  await postgres.backUp()
  for (const proxy of deployment.proxies) await deployment.serve(proxy)
  await deployment.assertWhole()
  await postgres.remember('kept')
  const mark = join(disk, 'mark.json')
  await deployment.command('restore', 'mark', mark)
  await deployment.cut()
  await postgres.lose()

  const restored = await postgres.restore('kept')
  const empty = await startTestRedis()
  servers.push(empty)
  const back = config.deploy(restored, empty.url)
  running.push(back)
  const { lost, ok } = (await back.command('restore', 'drill', mark)) as { lost: Lost; ok: boolean }
  assert.ok(ok)
  assert.equal(lost.receiptsTotal, 0)
  await back.start()
  for (const proxy of back.proxies) await back.serve(proxy)
  await back.stop()
})
