import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'
import { waitReady } from '../../../control/launch/waitReady.ts'
import { postRaw, type Reply } from '../clients/chatClient.ts'
import { patientLimits } from '../limits.ts'
import { freshDatabase, startTestRedis, type TestServer } from '../services.ts'
import { untilSettled } from '../settled.ts'
import { makeTempDir, removeTempDir } from '../tempDir.ts'
import { testCatalog } from '../testCatalog.ts'
import { TestProcess } from '../testProcess.ts'
import { until } from '../until.ts'
import type { Part } from './part.ts'
import { RunningPart } from './runningPart.ts'

const MODEL = 'test/small'
const SETTLED_TIMEOUT_MS = 90_000
const READY_TIMEOUT_MS = 60_000
const IN_A_ROW = 10

/** The servers that a deployment needs and no process of the image is, and a provider. */
export class DeploymentWorld {
  readonly dir: string = makeTempDir('deployed')
  readonly databaseUrl: string
  readonly redis: TestServer
  private readonly provider: TestProcess

  private constructor(databaseUrl: string, redis: TestServer) {
    this.databaseUrl = databaseUrl
    this.redis = redis
    this.provider = new TestProcess('provider', 'mock/main.js', [], this.dir, {})
  }

  static async start(databaseUrl?: string): Promise<DeploymentWorld> {
    const world = new DeploymentWorld(databaseUrl ?? (await freshDatabase({ empty: true })), await startTestRedis())
    await world.provider.start()
    return world
  }

  /** The text of a catalog with one model of the provider, for the place that the manifest mounts it from. */
  get catalog(): string {
    return testCatalog(`http://127.0.0.1:${this.provider.port}/v1`, {
      models: [{ id: MODEL, upstream: 'mock,chunks=3,delay=5' }],
    })
  }

  /** Sends requests at an address until one is answered. */
  serves(url: string, apiKey: string): Promise<void> {
    return until('a request is answered', async () => (await postModel(url, apiKey)).status === 200)
  }

  async stop(): Promise<void> {
    await Promise.all([this.provider.stop(), this.redis.stop()])
    removeTempDir(this.dir)
  }
}

/** The parts of a manifest, running as processes of this machine. */
export class Deployment {
  readonly proxies: readonly RunningPart[]
  readonly controls: readonly RunningPart[]
  private readonly jobs: readonly RunningPart[]
  private readonly world: DeploymentWorld
  private apiKey = ''
  private answered = 0

  /** @param parts as many of a manifest as this machine carries */
  constructor(parts: readonly Part[], world: DeploymentWorld) {
    this.world = world
    const of = (word: string): RunningPart[] =>
      parts.filter(({ args }) => args[0] === word).map((part) => new RunningPart(part, world.dir, variablesOf(part)))
    this.proxies = of('proxy')
    this.controls = of('control')
    this.jobs = of('migrate')
  }

  /** Migrates, starts controls and proxies, and waits until each is healthy and serves. */
  async start(): Promise<void> {
    for (const job of this.jobs) {
      const done = await job.run(...job.part.args)
      assert.equal(done.code, 0, `${job.part.name}: ${done.stdout}${done.stderr}`)
    }
    await Promise.all(this.controls.map((control) => control.start()))
    await Promise.all(this.proxies.map((proxy) => proxy.start()))
    await this.ready()
    for (const part of [...this.controls, ...this.proxies]) {
      await until(`${part.part.name} is healthy`, () => part.isHealthy('/ready'))
    }
  }

  /** Waits until each proxy serves. */
  async ready(): Promise<void> {
    for (const { url, part } of this.proxies) {
      assert.equal(await waitReady(url, READY_TIMEOUT_MS), undefined, `${part.name} is not ready\n${this.log(part)}`)
    }
  }

  /** Sends requests through a proxy, each of which has to be answered. */
  async serve(proxy: RunningPart | undefined, count = 5): Promise<void> {
    for (let i = 0; i < count; i++) {
      const answer = await this.ask(proxy?.url ?? '')
      assert.equal(answer.status, 200, `${proxy?.part.name}: ${answer.text}`)
    }
  }

  /** Waits until a proxy that refuses for want of another part, or is about to notice it, answers several requests in a row. */
  async servesAgain({ url, part }: RunningPart): Promise<void> {
    await until(`${part.name} serves again`, async () => {
      for (let i = 0; i < IN_A_ROW; i++) if ((await this.ask(url)).status !== 200) return false
      return true
    })
  }

  /** One request at an address of the gateway. */
  async ask(url: string): Promise<Reply> {
    this.apiKey ||= await this.createAccount()
    const answer = await postModel(url, this.apiKey)
    if (answer.status === 200) this.answered++
    return answer
  }

  /** Waits until the disk has all of a proxy's journal, which a lost pod takes the memory of. */
  async onDisk(proxy: RunningPart | undefined): Promise<void> {
    await until('the journal is on disk', async () => (await proxy?.metric('sluice_journal_lag_bytes')) === 0)
  }

  /** Runs the command line in a control's container. */
  async command(...args: readonly string[]): Promise<unknown> {
    const done = await this.controls[0]?.run(...args, '--json')
    assert.equal(done?.code, 0, `${args.join(' ')}: ${done?.stdout}${done?.stderr}`)
    return done.json
  }

  /** Waits until all is booked: every answered request has its receipt, and the audit finds nothing. */
  async assertWhole(): Promise<void> {
    await untilSettled(this.world.redis.url, SETTLED_TIMEOUT_MS)
    const client = new pg.Client({ connectionString: this.world.databaseUrl })
    await client.connect()
    const { rows } = await client.query<{ count: string }>('SELECT count(*) FROM receipts')
    await client.end()
    assert.equal(Number(rows[0]?.count), this.answered, 'receipts of answered requests')
    await this.command('audit')
  }

  /** Stops proxies, then controls. Each ends by itself within its grace period. */
  async stop(): Promise<void> {
    for (const parts of [this.proxies, this.controls]) {
      const ended = await Promise.all(parts.map(async (part) => [part.part.name, await part.stop()] as const))
      for (const [name, status] of ended) assert.equal(status, 0, `${name} ended with ${status}`)
    }
  }

  /** For the end of a test that may have failed. */
  async cut(): Promise<void> {
    await Promise.all([...this.proxies, ...this.controls].map((part) => part.kill9()))
  }

  private log({ name }: Part): string {
    return readFileSync(join(this.world.dir, `${name}.log`), 'utf8').slice(-2_000)
  }

  private async createAccount(): Promise<string> {
    const { api_key: apiKey } = (await this.command('account', 'create', '--credits', '10')) as { api_key: string }
    const url = this.proxies[0]?.url ?? ''
    await this.world.serves(url, apiKey)
    this.answered++
    return apiKey
  }
}

function variablesOf({ environment }: Part): NodeJS.ProcessEnv {
  return { SLUICE_TEST_PROVIDER_KEY: 'provider-key', SLUICE_LIMITS: patientLimits(environment['SLUICE_LIMITS']) }
}

function postModel(url: string, apiKey: string): Promise<Reply> {
  return postRaw(url, apiKey, JSON.stringify({ model: MODEL, messages: [{ role: 'user', content: 'hello' }] }))
}
