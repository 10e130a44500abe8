import assert from 'node:assert/strict'
import { pino } from 'pino'
import { newId } from '../../../contract/wire/ids.ts'
import { connectRedis, type Redis } from '../../../contract/wire/redis.ts'
import { announceKeyChanges } from '../../../control/runtime/bus/announceKeyChanges.ts'
import { KeptKeyRecords, noteAllAnnounced } from '../../../control/runtime/bus/keptKeyRecords.ts'
import { RpcServer } from '../../../control/runtime/bus/rpcServer.ts'
import { migrate } from '../../../control/runtime/db/migrate.ts'
import { createPool, type Pool, type Queryable } from '../../../control/runtime/db/pool.ts'
import { redisNowMs } from '../../../control/runtime/redisClock.ts'
import { answerKeys } from '../../../control/service/keyRecords.ts'
import { KeptKeyRecords as KeptReader } from '../../../proxy/access/keptKeyRecords.ts'
import { KeyCache } from '../../../proxy/access/keyCache.ts'
import { KeyRecords } from '../../../proxy/access/keyRecords.ts'
import type { Principal } from '../../../proxy/access/principal.ts'
import { feedListener } from '../../../proxy/bus/feedListener.ts'
import { FeedReader } from '../../../proxy/bus/feedReader.ts'
import { RpcClient } from '../../../proxy/bus/rpcClient.ts'
import { limitsWith } from '../limits.ts'
import { freshDatabase, startTestRedis, type TestServer } from '../services.ts'
import { EMPTY_HANDLERS } from './emptyHandlers.ts'
import { openShards } from './leaseState.ts'
import { TEST_BUS_KEY } from './sealedCalls.ts'

const busKeys = [Buffer.from(TEST_BUS_KEY, 'hex')]
/** Long enough for tests that do not wait for its end. */
const limits = limitsWith({ keyRecordTrustMs: 3_600_000 })
const IGNORED = { renew: () => undefined }

/** The parts of a proxy process that know keys. */
export interface ColdProxy {
  readonly cache: KeyCache
  /** Records by where they came from. */
  readonly counts: { readonly redis: number; readonly control: number }
  /** Whether Redis counts as one that control has opened admission for. */
  known: boolean
}

/** A book, Redis, and the part of control that answers for keys, which counts its statements and calls. */
export class ColdKeys {
  readonly server: TestServer
  readonly redis: Redis
  readonly pool: Pool
  statements = 0
  calls = 0
  /** Awaited after control has read records, and before it keeps them and answers. */
  afterRead: () => Promise<unknown> = async () => undefined
  private readonly rpc: RpcServer
  private readonly closing: (() => unknown)[] = []

  /** @param server Redis of any kind; it is stopped with the rest */
  static async start(server?: TestServer): Promise<ColdKeys> {
    const redis = server ?? (await startTestRedis())
    const pool = createPool(await freshDatabase(), limits)
    await migrate(pool)
    const world = new ColdKeys(redis, pool)
    await world.open()
    return world
  }

  private constructor(server: TestServer, pool: Pool) {
    this.server = server
    this.pool = pool
    this.redis = connectRedis(server.url, 'wait')
    const query = async (...args: Parameters<Pool['query']>) => {
      this.statements++
      const found = await pool.query(...args)
      await this.afterRead()
      return found
    }
    const db: Queryable = { query: query as Pool['query'] }
    const parts = { db, kept: new KeptKeyRecords(this.redis, busKeys, limits), limits }
    this.rpc = new RpcServer({
      redisUrl: server.url,
      busKeys,
      handlers: {
        ...EMPTY_HANDLERS,
        resolve_keys: (request) => {
          this.calls++
          return answerKeys(parts, request)
        },
      },
      log: pino({ enabled: false }),
      limits,
    })
    this.rpc.start()
  }

  /** As control does after it has loaded Redis: opens admission with an epoch that was never in force before. */
  async open(): Promise<void> {
    await openShards(this.redis)
  }

  /** A pass of control's announcer. */
  async announce(): Promise<void> {
    const nowMs = await redisNowMs(this.redis)
    assert.ok(await announceKeyChanges(this.pool, this.redis, limits))
    await noteAllAnnounced(this.redis, nowMs, limits)
  }

  /** A proxy process of its own, which follows the feed. */
  async newProxy(): Promise<ColdProxy> {
    const [commands, subscriber, feedRedis] = [1, 2, 3].map(() => connectRedis(this.server.url, 'wait')) as [
      Redis,
      Redis,
      Redis,
    ]
    const owner = newId('own')
    const rpc = new RpcClient({ commands, subscriber, owner, busKeys, limits })
    await rpc.start()
    const usable = () => proxy.known
    const counts = { redis: 0, control: 0 }
    const kept = new KeptReader({ redis: commands, busKeys, owner, limits, usable, serverChanges: () => 0 })
    const records = new KeyRecords({ rpc, kept, schedule: setImmediate, counts, limits })
    const cache = new KeyCache(records, () => feed.isFollowed, limits)
    const proxy: ColdProxy = { cache, counts, known: true }
    const listener = feedListener({ keys: cache, kept, catalog: IGNORED, incidents: IGNORED })
    const feed = new FeedReader(feedRedis, listener, () => undefined)
    await feed.start()
    this.closing.push(async () => {
      await feed.stop()
      rpc.stop()
      for (const connection of [commands, subscriber]) connection.disconnect()
    })
    return proxy
  }

  async stop(): Promise<void> {
    for (const close of this.closing) await close()
    await this.rpc.stop(0)
    this.redis.disconnect()
    await this.pool.end()
    await this.server.stop()
  }
}

/** A key as a proxy sees it: its state, or the code of its refusal. */
export async function seenBy({ cache }: ColdProxy, secret: string): Promise<string> {
  try {
    const principal: Principal = await cache.find(secret, Date.now())
    return principal.paused ? 'paused' : 'active'
  } catch (error) {
    return String((error as { code?: unknown }).code)
  }
}
