import assert from 'node:assert/strict'
import { newSignal, type Signal } from '../../../contract/std/signal.ts'
import { sluice } from '../../../contract/wire/generated/messages.js'
import { hashSecret, newId, newSecret } from '../../../contract/wire/ids.ts'
import { type KeptKey, keptKey } from '../../../contract/wire/keptKeys.ts'
import { connectRedis, type Redis } from '../../../contract/wire/redis.ts'
import { ANNOUNCED_KEY } from '../../../contract/wire/redisKeys.ts'
import { dropKeyRecords, KeptKeyRecords } from '../../../control/runtime/bus/keptKeyRecords.ts'
import { KeptKeyRecords as KeptReader } from '../../../proxy/access/keptKeyRecords.ts'
import { KeyCache } from '../../../proxy/access/keyCache.ts'
import { KeyRecords } from '../../../proxy/access/keyRecords.ts'
import type { RpcClient } from '../../../proxy/bus/rpcClient.ts'
import { limits } from '../limits.ts'
import { TEST_BUS_KEY } from './sealedCalls.ts'

const busKeys = [Buffer.from(TEST_BUS_KEY, 'hex')]
const PROXIES = 2

/** The steps of a sequence; those with a number are of that proxy. */
export const STEPS = [
  'change',
  'drop',
  'publish',
  'find 0',
  'find 1',
  'read 0',
  'read 1',
  'answer 0',
  'answer 1',
  'event 0',
  'event 1',
  'note older state',
  'go back in time',
  'empty',
  'open',
  'expire claim',
  'silence',
  'hear',
] as const
export type Step = (typeof STEPS)[number]

interface Call {
  readonly claim: string
  /** The version that control has read. */
  version: number | undefined
  readonly answered: Signal
}

/**
 * One key, whose record is a version: the proxies' cache and both ends of the records in Redis are real, the book is a number,
 * and calls, events and the announcer take a step when the test says so.
 */
export class KeyOrders {
  private readonly secret = newSecret('sk')
  private readonly key: KeptKey = keptKey(hashSecret(this.secret))
  private readonly redis: Redis
  private readonly keeper: KeptKeyRecords
  private readonly proxies: readonly OrderedProxy[]
  /** In the book. */
  private version = 1
  /** The version up to which records were dropped. */
  private dropped = 1
  private unpublished: number | undefined
  private olderState: Buffer | undefined

  static async start(url: string): Promise<KeyOrders> {
    const orders = new KeyOrders(url)
    await orders.step('open')
    await orders.step('hear')
    return orders
  }

  private constructor(url: string) {
    this.redis = connectRedis(url, 'wait')
    this.keeper = new KeptKeyRecords(this.redis, busKeys, limits)
    this.proxies = Array.from({ length: PROXIES }, () => new OrderedProxy(url, this.secret))
  }

  async step(step: Step): Promise<void> {
    const [name = '', number] = step.split(/ (?=\d$)/)
    const proxy = this.proxies[Number(number ?? 0)] ?? assert.fail()
    const { redis, key } = this
    switch (name) {
      case 'change':
        this.version++
        return
      case 'drop':
        await dropKeyRecords(redis, [key.keyHash])
        this.dropped = this.version
        this.unpublished = this.version
        return
      case 'publish':
        if (this.unpublished === undefined) return
        for (const { events } of this.proxies) events.push({ version: this.unpublished, isGap: false })
        this.unpublished = undefined
        return
      case 'find':
        return proxy.find(this.bound())
      case 'read': {
        const call = proxy.calls.find(({ version }) => version === undefined)
        if (call !== undefined) call.version = this.version
        return
      }
      case 'answer': {
        const at = proxy.calls.findIndex(({ version }) => version !== undefined)
        const [call] = at < 0 ? [] : proxy.calls.splice(at, 1)
        if (call === undefined) return
        const records = new Map([[key.keyHash, recordOf(call.version ?? 0)]])
        if (call.claim !== '') await this.keeper.keep(call.claim, [key.keyHash], records)
        call.answered.resolve()
        return proxy.settled(call)
      }
      case 'event':
        return proxy.takeEvent()
      case 'note older state':
        this.olderState = (await redis.dumpBuffer(key.recordKey)) ?? undefined
        return
      case 'go back in time':
        await this.lose(this.olderState)
        return
      case 'empty':
        await this.lose(undefined)
        await redis.del(key.epochKey)
        return
      case 'open':
        await redis.set(key.epochKey, newId('evt'))
        for (const each of this.proxies) each.known = true
        return
      case 'expire claim':
        if ((await redis.get(key.recordKey))?.startsWith('C')) await redis.del(key.recordKey)
        return
      case 'silence':
        await redis.del(ANNOUNCED_KEY)
        return
      case 'hear':
        // The announcer notes it only when it has nothing left to announce.
        if (this.dropped === this.version && this.unpublished === undefined) await redis.set(ANNOUNCED_KEY, '1')
        return
      default:
        assert.fail(step)
    }
  }

  /** Once all is announced and read, each proxy has the newest version. */
  async assertSettled(): Promise<void> {
    for (const step of ['open', 'drop', 'publish', 'hear'] as const) await this.step(step)
    for (const [i, proxy] of this.proxies.entries()) {
      while (proxy.events.length > 0) proxy.takeEvent()
      while (proxy.calls.length > 0) for (const step of ['read', 'answer']) await this.step(`${step} ${i}` as Step)
      await this.step(`find ${i}` as Step)
      while (proxy.calls.length > 0) for (const step of ['read', 'answer']) await this.step(`${step} ${i}` as Step)
      assert.equal(await proxy.versionNow(), this.version)
    }
  }

  stop(): void {
    for (const proxy of this.proxies) proxy.stop()
    this.redis.disconnect()
  }

  /** The least version of a record that is asked for from now on. */
  private bound(): () => Promise<number> {
    const { version, dropped } = this
    return async () => ((await this.redis.exists(ANNOUNCED_KEY)) === 0 ? version : dropped)
  }

  /** Another server takes over. The events that were not read are lost, and each proxy notices that on its own. */
  private async lose(state: Buffer | undefined): Promise<void> {
    await this.redis.del(this.key.recordKey)
    if (state !== undefined) await this.redis.restore(this.key.recordKey, 0, state)
    for (const proxy of this.proxies) {
      proxy.known = false
      proxy.changes++
      proxy.events = [{ version: this.dropped, isGap: true }]
    }
  }
}

class OrderedProxy {
  readonly calls: Call[] = []
  events: { readonly version: number; readonly isGap: boolean }[] = []
  known = true
  changes = 0
  /** The version of the last event that was read. */
  private seen = 1
  private readonly secret: string
  private readonly redis: Redis
  private readonly cache: KeyCache
  private bound: () => Promise<number> = async () => 0
  /** Given once a lookup has its record or waits for control. */
  private progress = newSignal()
  private lookups = 0
  private failure: unknown

  constructor(url: string, secret: string) {
    this.secret = secret
    this.redis = connectRedis(url, 'wait')
    const usable = () => this.known
    const kept = new KeptReader({
      redis: this.redis,
      busKeys,
      owner: newId('own'),
      limits,
      usable,
      serverChanges: () => this.changes,
    })
    const rpc = { call: this.call.bind(this) as RpcClient['call'] }
    const records = new KeyRecords({ rpc, kept, schedule: setImmediate, counts: { redis: 0, control: 0 }, limits })
    const checked = {
      find: async (keyHash: string) => {
        this.lookups++
        const bound = await this.bound()
        const record = await records.find(keyHash)
        this.progress.resolve()
        assert.ok(versionOf(record) >= bound, `a lookup found version ${versionOf(record)} after ${bound}`)
        return record
      },
    }
    this.cache = new KeyCache(checked, () => true, limits)
  }

  async find(bound: () => Promise<number>): Promise<void> {
    this.bound = bound
    this.progress = newSignal()
    const { seen, lookups } = this
    const found = this.cache.find(this.secret, Date.now())
    const check = ({ keyId }: { keyId: string }) => assert.ok(Number(keyId) >= seen, `version ${keyId} after ${seen}`)
    if (!(found instanceof Promise)) return check(found)
    found.then(check).catch((error: unknown) => {
      this.failure = error
    })
    if (this.lookups > lookups) await this.progress.promise
    await nextTurn()
    this.rethrow()
  }

  /** Waits until those who asked have the answer of a call. */
  async settled({ answered }: Call): Promise<void> {
    await answered.promise
    await nextTurn()
    this.rethrow()
  }

  takeEvent(): void {
    const event = this.events.shift()
    if (event === undefined) return
    if (event.isGap) this.cache.clear()
    else this.cache.drop(hashSecret(this.secret))
    this.seen = event.version
  }

  async versionNow(): Promise<number> {
    return Number((await this.cache.find(this.secret, Date.now())).keyId)
  }

  stop(): void {
    this.redis.disconnect()
  }

  private rethrow(): void {
    if (this.failure !== undefined) throw this.failure
  }

  private async call(_operation: string, { claim }: sluice.ResolveKeysRequest): Promise<sluice.ResolveKeysReply> {
    const call: Call = { claim, version: undefined, answered: newSignal() }
    this.calls.push(call)
    this.progress.resolve()
    await call.answered.promise
    return sluice.ResolveKeysReply.create({ keys: [{ record: recordOf(call.version ?? 0) }] })
  }
}

const nextTurn = () => new Promise<void>((resolve) => setImmediate(() => setImmediate(resolve)))

function recordOf(version: number): Uint8Array {
  const record = { keyId: String(version), accountId: 'acct_orders', privacyKnown: true, settingsKnown: true }
  return sluice.KeyRecord.encode(record).finish()
}

function versionOf(record: sluice.KeyRecord | null): number {
  return Number(record?.keyId ?? 0)
}
