import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import { freePort } from '../../../control/launch/process/freePort.ts'
import { itemOf } from '../present.ts'
import type { TestServer } from '../services.ts'
import { makeTempDir } from '../tempDir.ts'
import { until } from '../until.ts'
import { RedisProcess, startReplicated } from './redisProcess.ts'

const MASTER = 'sluice'
const DOWN_AFTER_MS = 1_000
const FAILOVER_TIMEOUT_MS = 5_000

/** A master, a replica, and the Sentinels that watch them. */
export class SentinelServers implements TestServer {
  readonly url: string
  readonly servers: readonly RedisProcess[]
  readonly sentinels: readonly RedisProcess[]

  private readonly passwords: SentinelPasswords

  constructor(servers: readonly RedisProcess[], sentinels: readonly RedisProcess[], passwords: SentinelPasswords) {
    this.passwords = passwords
    this.servers = servers
    this.sentinels = sentinels
    const hosts = sentinels.map(({ port }) => `127.0.0.1:${port}`)
    const { password, sentinelPassword } = passwords
    const user = password === undefined ? '' : `:${password}@`
    const query = sentinelPassword === undefined ? '' : `?sentinel_password=${sentinelPassword}`
    this.url = `redis+sentinel://${user}${hosts.join(',')}/${MASTER}/0${query}`
  }

  /** Of the first server. */
  get dir(): string {
    return itemOf(this.servers, 0).dir
  }

  pid(): number | undefined {
    return itemOf(this.servers, 0).pid
  }

  /** The server that Sentinel names now. */
  async master(): Promise<RedisProcess> {
    const [, port] = await ask(itemOf(this.sentinels, 0).port, this.passwords.sentinelPassword, async (sentinel) => {
      return (await sentinel.call('SENTINEL', 'GET-MASTER-ADDR-BY-NAME', MASTER)) as [string, string]
    })
    const found = this.servers.find((server) => server.port === Number(port))
    if (found === undefined) throw new Error(`Sentinel names port ${port}`)
    return found
  }

  async kill9(): Promise<void> {
    await (await this.master()).kill9()
  }

  async restart(): Promise<void> {
    await Promise.all(this.servers.map((server) => server.start()))
  }

  async stop(): Promise<void> {
    await Promise.all([...this.sentinels, ...this.servers].map((server) => server.stop()))
  }
}

/** Passwords of the servers and of the Sentinels; none when absent. */
export interface SentinelPasswords {
  readonly password?: string
  readonly sentinelPassword?: string
}

/** Calls `work` with a connection to a server of this machine. */
async function ask<T>(port: number, password: string | undefined, work: (redis: Redis) => Promise<T>): Promise<T> {
  const signIn = password === undefined ? {} : { password }
  const redis = new Redis(port, '127.0.0.1', { protocol: 2, maxRetriesPerRequest: 20, ...signIn })
  redis.on('error', () => {})
  try {
    return await work(redis)
  } finally {
    redis.disconnect()
  }
}

/** Starts a master with a replica and three Sentinels, and waits until these know of both. */
export async function startTestSentinel(passwords: SentinelPasswords = {}): Promise<SentinelServers> {
  const { password, sentinelPassword } = passwords
  const signIn: Record<string, string> = password === undefined ? {} : { requirepass: password, masterauth: password }
  const master = await startReplicated(signIn)
  const replica = await startReplicated({ ...signIn, replicaof: `127.0.0.1 ${master.port}` })
  const sentinels = await Promise.all([1, 2, 3].map(() => startSentinel(master.port, passwords)))
  for (const { port } of sentinels) {
    await until('the Sentinel knows the replica and the others', () =>
      ask(port, sentinelPassword, async (sentinel) => {
        const fields = (await sentinel.call('SENTINEL', 'MASTER', MASTER)) as string[]
        const field = (name: string) => fields[fields.indexOf(name) + 1]
        return field('num-slaves') === '1' && field('num-other-sentinels') === '2'
      }),
    )
  }
  await until('the replica is in step', () =>
    ask(replica.port, password, async (redis) => /master_link_status:up/.test(await redis.info('replication'))),
  )
  return new SentinelServers([master, replica], sentinels, passwords)
}

async function startSentinel(
  masterPort: number,
  { password, sentinelPassword }: SentinelPasswords,
): Promise<RedisProcess> {
  const port = await freePort()
  const dir = makeTempDir('redis')
  const file = join(dir, 'sentinel.conf')
  const lines = [
    `port ${port}`,
    `sentinel monitor ${MASTER} 127.0.0.1 ${masterPort} 2`,
    `sentinel down-after-milliseconds ${MASTER} ${DOWN_AFTER_MS}`,
    `sentinel failover-timeout ${MASTER} ${FAILOVER_TIMEOUT_MS}`,
  ]
  if (password !== undefined) lines.push(`sentinel auth-pass ${MASTER} ${password}`)
  if (sentinelPassword !== undefined) {
    lines.push(`requirepass ${sentinelPassword}`, `sentinel sentinel-pass ${sentinelPassword}`)
  }
  writeFileSync(file, `${lines.join('\n')}\n`)
  const sentinel = new RedisProcess(dir, { port, settings: {}, sentinel: file })
  await sentinel.start()
  return sentinel
}
