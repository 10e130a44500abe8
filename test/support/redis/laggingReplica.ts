import { Redis } from 'ioredis'
import { Relay } from '../relay.ts'
import type { TestServer } from '../services.ts'
import { until } from '../until.ts'
import { type RedisProcess, startReplicated } from './redisProcess.ts'

/** A master with a replica that can be kept from following it, and one address that leads to whichever is the master. */
export class LaggingReplica implements TestServer {
  readonly url: string
  private readonly clients: Relay
  private readonly replication: Relay
  private readonly master: RedisProcess
  private readonly replica: RedisProcess
  private isFailedOver = false

  private constructor(clients: Relay, replication: Relay, master: RedisProcess, replica: RedisProcess) {
    this.clients = clients
    this.replication = replication
    this.master = master
    this.replica = replica
    this.url = `redis://127.0.0.1:${clients.port}`
  }

  static async start(): Promise<LaggingReplica> {
    const master = await startReplicated({})
    const replication = await Relay.start(master.port)
    const replica = await startReplicated({ replicaof: `127.0.0.1 ${replication.port}` })
    return new LaggingReplica(await Relay.start(master.port), replication, master, replica)
  }

  get dir(): string {
    return this.current.dir
  }

  pid(): number | undefined {
    return this.current.pid
  }

  /** From here on the replica hears nothing of the master; it has all that was written before. */
  async lag(): Promise<void> {
    await until('the replica has all', async () => {
      const [own, others] = [await offsetOf(this.replica), await offsetOf(this.master)]
      return own.isLinked && own.offset === others.offset
    })
    this.replication.hold('server')
  }

  /** The master dies and the replica takes its place, with what it has. */
  async failOver(): Promise<void> {
    this.isFailedOver = true
    await this.master.kill9()
    this.replication.breakAll()
    await ask(this.replica, (redis) => redis.call('REPLICAOF', 'NO', 'ONE'))
    this.clients.targetPort = this.replica.port
    this.clients.breakAll()
  }

  kill9(): Promise<void> {
    return this.current.kill9()
  }

  restart(): Promise<void> {
    return this.current.start()
  }

  async stop(): Promise<void> {
    await Promise.all([this.master.stop(), this.replica.stop()])
    await Promise.all([this.clients.stop(), this.replication.stop()])
  }

  private get current(): RedisProcess {
    return this.isFailedOver ? this.replica : this.master
  }
}

async function offsetOf(server: RedisProcess): Promise<{ offset: string; isLinked: boolean }> {
  const text = await ask(server, (redis) => redis.info('replication'))
  const [, offset = ''] = /\b(?:slave|master)_repl_offset:(\d+)/.exec(text) ?? []
  return { offset, isLinked: /master_link_status:up/.test(text) }
}

async function ask<T>(server: RedisProcess, work: (redis: Redis) => Promise<T>): Promise<T> {
  const redis = new Redis(server.port, '127.0.0.1', { protocol: 2, maxRetriesPerRequest: 20 })
  redis.on('error', () => {})
  try {
    return await work(redis)
  } finally {
    redis.disconnect()
  }
}
