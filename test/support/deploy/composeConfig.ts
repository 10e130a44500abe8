import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { chmodSync, cpSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { compiled, projectRoot } from '../../../control/launch/paths.ts'
import { composeParts, readCompose } from './compose.ts'
import { Deployment, type DeploymentWorld } from './deployment.ts'

/** The folder of settings and secrets that deploy/compose/init.sh makes, in the folder of a world. */
export class ComposeConfig {
  readonly folder: string
  private readonly world: DeploymentWorld

  constructor(world: DeploymentWorld) {
    this.world = world
    this.folder = join(world.dir, 'config')
    const names = ['.env.example', 'deploy/compose']
    for (const name of names) cpSync(join(projectRoot, name), join(world.dir, name), { recursive: true })
    const example = readFileSync(join(projectRoot, '.env.example'), 'utf8')
    writeFileSync(join(world.dir, '.env'), example.replace('./config', this.folder))
    this.initialize()
  }

  /** Runs init.sh. */
  initialize(): void {
    const env = { ...process.env, SLUICE: `${process.execPath} ${compiled('control/cli.js')}` }
    const done = spawnSync('sh', ['deploy/compose/init.sh'], { cwd: this.world.dir, env, encoding: 'utf8' })
    assert.equal(done.status, 0, done.stderr)
  }

  /** The parts of compose.yaml with the servers and the catalog of the test. */
  deploy(databaseUrl: string = this.world.databaseUrl, redisUrl: string = this.world.redis.url): Deployment {
    this.replace('secrets/database_url', databaseUrl)
    this.replace('secrets/redis_url', redisUrl)
    this.replace('catalog/catalog.yaml', this.world.catalog)
    return new Deployment(composeParts(readCompose({ CONFIG: this.folder, WORKERS: '1' })), this.world)
  }

  read(name: string): string {
    return readFileSync(join(this.folder, name), 'utf8')
  }

  /** Replaces a file, as a secret store does. */
  replace(name: string, text: string): void {
    const path = join(this.folder, name)
    chmodSync(path, 0o644)
    writeFileSync(path, `${text}\n`)
  }
}
