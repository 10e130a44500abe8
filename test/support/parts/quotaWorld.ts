import type { Quota } from '../../../contract/catalog/quota.ts'
import { connectRedis, type Redis } from '../../../contract/wire/redis.ts'
import { quotaKey } from '../../../contract/wire/redisKeys.ts'
import { QuotaCode, sourceOf } from '../../../contract/wire/scripts.ts'
import type { Denial, Permit, Permits } from '../../../proxy/quotas/permit.ts'
import type { Pot } from '../../../proxy/quotas/pot.ts'
import { Quotas } from '../../../proxy/quotas/quotas.ts'
import { limits } from '../limits.ts'
import { startTestRedis, type TestServer } from '../services.ts'

const SHARD = 7
const CLOCK = `{s${SHARD.toString().padStart(2, '0')}}:clock`
/** The clock of Redis, for the text in lua/shared/time.lua that reads it. */
const READ_TIME = `redis.call('TIME')`
const READ_CLOCK = `(function() local ms = tonumber(redis.call('GET', '${CLOCK}'))
  return { math.floor(ms / 1000), ms % 1000 * 1000 } end)()`

/** What a call to Redis meets. */
export type CallFate = 'done' | 'lost' | 'answer lost' | 'late'

/** Quotas of several processes on one Redis whose clock the test sets. */
export class QuotaWorld {
  nowMs = 1_800_000_000_000
  readonly redis: Redis
  private readonly server: TestServer
  private owners = 0
  /** Calls that arrive after later ones. */
  private readonly late: (() => Promise<unknown>)[] = []

  private constructor(server: TestServer) {
    this.server = server
    this.redis = connectRedis(server.url, 'wait')
    const source = sourceOf('quota')
    if (!source.includes(READ_TIME)) throw new Error('quota.lua reads its clock in another way')
    this.redis.defineCommand('quotaAt', { lua: source.replace(READ_TIME, READ_CLOCK) })
  }

  static async start(): Promise<QuotaWorld> {
    return new QuotaWorld(await startTestRedis())
  }

  async stop(): Promise<void> {
    this.redis.disconnect()
    await this.server.stop()
  }

  /** Forgets everything but the clock. */
  async reset(): Promise<void> {
    await this.redis.flushall()
    await this.advance(0)
  }

  async advance(ms: number): Promise<void> {
    this.nowMs += ms
    await this.redis.set(CLOCK, this.nowMs)
  }

  pot(name: string, quota: Partial<Quota>): Pot {
    const none = { requestsPerMinute: 0, tokensPerMinute: 0, parallel: 0 }
    return { ...none, ...quota, shard: SHARD, key: quotaKey(SHARD, name) }
  }

  /** A process. @param fate of its next call */
  process(fate: () => CallFate = () => 'done'): Quotas {
    const run = Reflect.get(this.redis, 'quotaAt') as (...args: unknown[]) => Promise<unknown>
    const owner = `own_${++this.owners}`
    return new Quotas({
      owner,
      limits,
      connected: () => true,
      onFault: () => undefined,
      script: async (keys, args) => {
        const call = () => run.call(this.redis, keys.length, ...keys, ...args)
        const met = fate()
        if (met === 'done') return call()
        if (met === 'answer lost') await call()
        if (met === 'late') this.late.push(call)
        throw new Error(met)
      },
    })
  }

  /** The calls that were given up arrive. */
  async deliverLate(): Promise<void> {
    for (const call of this.late.splice(0)) await call()
  }
}

/** Asks for a permit. @returns a denial where there is no room */
export function take(permits: Permits, pots: readonly Pot[], tokens = 0): Promise<Permit | Denial> {
  return new Promise((resolve, reject) => {
    permits.take(pots, tokens, { onPermit: resolve, onDenied: resolve, onCrashed: reject })
  })
}

/** The name of an answer's code. */
export function codeOf(answer: Permit | Denial): string {
  if (!('code' in answer)) return 'OK'
  return Object.entries(QuotaCode).find(([, code]) => code === answer.code)?.[0] ?? 'UNANSWERED'
}
