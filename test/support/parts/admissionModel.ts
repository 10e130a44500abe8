import assert from 'node:assert/strict'
import { sluice } from '../../../contract/wire/generated/messages.js'
import { newId } from '../../../contract/wire/ids.ts'
import type { Redis } from '../../../contract/wire/redis.ts'
import {
  accountKey,
  epochKey,
  keyCountersKey,
  leasesKey,
  ledgerStream,
  loadGuardKey,
  shardOf,
} from '../../../contract/wire/redisKeys.ts'
import { HoldCode } from '../../../contract/wire/scripts.ts'
import { type Principal, toPrincipal } from '../../../proxy/access/principal.ts'
import { limits } from '../limits.ts'
import { itemOf } from '../present.ts'
import { type ClockScripts, shardTag } from './clockScripts.ts'
import { addTo, leasesIn, sumOf, unitsIn } from './modelSums.ts'
import { type Lost, ModelWorker, type ModelWorld, type Outcome } from './modelWorker.ts'

export const FUNDS = 50_000
export const WORKERS = 3
/** The cap of an hour of each key; null for none. The last one is a sub-key, whose platform key has a cap. */
const CAPS = [null, 20_000, null] as const
export const KEYS = CAPS.length
const PLATFORM_CAP = 15_000
const HOUR_MS = 3_600_000
/** Turns of the event loop without a call, after which nothing is under way. */
const CALM = 3
/** The middle of an hour. */
const START_MS = 490_000.5 * HOUR_MS

/** A request that was granted its hold. */
interface Open {
  readonly requestId: string
  readonly worker: ModelWorker
  readonly key: number
  readonly units: number
  readonly hour: number
}

/** A request that waits for its hold, and the caps that its key has had meanwhile. */
interface Waiting {
  readonly key: number
  readonly units: number
  readonly caps: number[]
}

/**
 * One account with its keys and workers, whose leases are the real ones over the real scripts, and beside them what the
 * account's clients were told. Time is set by hand.
 */
export class AdmissionModel implements ModelWorld {
  readonly shard: number
  readonly accountId: string
  nowMs = START_MS
  leaseCalls = 0
  readonly faults: unknown[] = []
  private readonly redis: Redis
  private readonly scripts: ClockScripts
  private workers: ModelWorker[] = []
  private readonly gone: ModelWorker[] = []
  private readonly principals: Principal[]
  private readonly caps: (number | null)[] = [...CAPS]
  private open: Open[] = []
  private chargedUnits = 0
  /** By `key/hour`. */
  private readonly chargedIn = new Map<string, number>()
  private readonly chargedBy = new Map<number, number>()
  private readonly waiting = new Set<Waiting>()
  private epoch = 0
  private isDisturbed = false

  private constructor(redis: Redis, scripts: ClockScripts, shard: number) {
    this.redis = redis
    this.scripts = scripts
    this.shard = shard
    let accountId = newId('acct')
    while (shardOf(accountId) !== shard) accountId = newId('acct')
    this.accountId = accountId
    this.principals = CAPS.map((_, key) => this.principalOf(key))
  }

  static async start(redis: Redis, scripts: ClockScripts, shard: number): Promise<AdmissionModel> {
    const model = new AdmissionModel(redis, scripts, shard)
    await redis.del(ledgerStream(shard))
    await model.setClock()
    await redis.hset(accountKey(shard, model.accountId), { coin: FUNDS, g: '', seq: 1, out: 0 })
    await redis.set(epochKey(shard), model.nextEpoch())
    for (let i = 0; i < WORKERS; i++) model.workers.push(model.newWorker())
    return model
  }

  take(place: number, key: number, units: number): void {
    const [worker, takenIn] = [itemOf(this.workers, place), this.hour]
    const waiting: Waiting = { key, units, caps: [this.caps[key] ?? FUNDS] }
    this.waiting.add(waiting)
    worker.take(itemOf(this.principals, key), units, (requestId, outcome) => {
      this.waiting.delete(waiting)
      const { held } = outcome
      const hour = Math.floor((outcome.heldAtMs ?? 0) / HOUR_MS)
      assert.ok(held === undefined || hour >= takenIn, 'held in an hour that is over')
      if (held !== undefined) this.held({ requestId, worker, key, units: held, hour }, waiting)
      else this.refused(outcome, waiting)
    })
  }

  end(place: number, share: number): void {
    if (this.open.length === 0) return
    const [ended] = this.open.splice(place % this.open.length, 1)
    if (ended === undefined) return
    const units = Math.floor(ended.units * share)
    ended.worker.end(ended.requestId, units)
    this.chargedUnits += units
    addTo(this.chargedIn, `${ended.key}/${ended.hour}`, units)
    addTo(this.chargedBy, ended.key, units)
  }

  async pass(ms: number): Promise<void> {
    this.nowMs += ms
    await this.setClock()
  }

  review(): void {
    for (const worker of this.workers) worker.review()
  }

  tick(): void {
    for (const worker of this.workers) worker.tick()
  }

  /** The next call of a worker is lost on its way there, or its answer on the way back. */
  lose(place: number, part: Lost): void {
    this.isDisturbed = true
    itemOf(this.workers, place).lose(part)
  }

  /** As kill -9, and what the supervisor does then. */
  async kill(place: number): Promise<void> {
    await this.quiet()
    const killed = itemOf(this.workers, place)
    this.open = this.open.filter(({ worker }) => worker !== killed)
    await killed.replay((await this.redis.get(epochKey(this.shard))) ?? '')
    this.gone.push(killed)
    this.workers[place] = this.newWorker()
  }

  /** A key has another cap, of which the feed tells or not yet. */
  change(key: number, cap: number, isTold: boolean): void {
    if (CAPS[key] === null) return
    this.caps[key] = cap
    for (const waiting of this.waiting) if (waiting.key === key) waiting.caps.push(cap)
    this.principals[key] = this.principalOf(key)
    if (isTold) for (const worker of this.workers) worker.changed(itemOf(this.principals, key))
  }

  /** Redis loses everything, what the book has of it or not, and control loads it again. */
  async lossOfRedis(isBooked: boolean): Promise<void> {
    await this.quiet()
    const { redis, shard, accountId } = this
    await redis.del(epochKey(shard))
    const all = [...this.workers, ...this.gone]
    if (isBooked) for (const worker of all) await worker.book()
    const keys = CAPS.map((_, key) => keyCountersKey(shard, this.keyId(key)))
    const platform = keyCountersKey(shard, this.platformId)
    await redis.del(accountKey(shard, accountId), platform, ...keys, ...all.map(({ owner }) => leasesKey(shard, owner)))
    const load = String(++this.epoch)
    await redis.set(loadGuardKey(shard), load)
    for (const worker of this.workers) await worker.report(load)
    // Of killed workers, the supervisor delivers again what the book lacks.
    for (const worker of this.gone) await worker.book()
    const { leases } = await this.snapshot()
    const booked = all.flatMap((worker) => worker.bookedEndings)
    const spent = [...leases, ...booked.map(({ lease, charged }) => ({ ...lease, units: charged.coinUnits }))]
    const out = unitsIn(leases)
    const coin = FUNDS - sumOf(booked.map(({ charged }) => charged.coinUnits)) - out
    await redis.hset(accountKey(shard, accountId), { coin, g: '', seq: 1, out })
    for (let key = 0; key < KEYS; key++) {
      const own = spent.filter(({ keyId }) => keyId === this.keyId(key))
      const counted = { bs: unitsIn(own), hw: this.hour, hs: unitsIn(own.filter(({ hour }) => hour === this.hour)) }
      const names = key === KEYS - 1 ? [this.keyId(key), this.platformId] : [this.keyId(key)]
      for (const name of names) await redis.hset(keyCountersKey(shard, name), counted)
    }
    await redis.set(epochKey(shard), this.nextEpoch())
  }

  /** Waits until nothing is under way; requests that wait for recalled leases try again meanwhile. */
  async quiet(): Promise<void> {
    for (let calm = 0; calm < CALM; ) {
      await new Promise((resolve) => setImmediate(resolve))
      calm = this.workers.some((worker) => worker.isCalling) ? 0 : calm + 1
      if (calm < CALM) continue
      const again = this.workers.flatMap((worker) => worker.takeRetries())
      if (again.length === 0) break
      await this.pass(limits.recallWaitMs / 5)
      for (const retry of again) retry()
      calm = 0
    }
    assert.deepEqual(this.faults.splice(0), [])
  }

  /** Compares Redis with what clients were told. Call it when all is quiet. */
  async check(): Promise<void> {
    for (let i = 0; this.isDisturbed && i < 4; i++) {
      this.tick()
      await this.quiet()
    }
    this.isDisturbed = this.workers.some((worker) => worker.isLosing)
    for (const worker of this.workers) await worker.arriveLate()
    const { coin, out, lives, leases } = await this.snapshot()
    const [undelivered, leased] = [sumOf(this.workers.map((worker) => worker.undeliveredUnits)), unitsIn(leases)]
    assert.equal(coin + leased - undelivered, FUNDS - this.chargedUnits, 'free, leased and charged')
    assert.equal(out, leased + sumOf(leases.map(({ charged }) => charged)), 'out')
    assert.ok(coin >= 0, 'the balance')
    assert.ok(undelivered + unitsIn(this.open) <= leased, 'held on leases')
    for (const [key, life] of lives.entries()) {
      const own = unitsIn(leases.filter(({ keyId }) => keyId === this.keyId(key)))
      const waiting = sumOf(this.workers.map((worker) => worker.undeliveredOf(this.keyId(key))))
      assert.equal(life, own - waiting + (this.chargedBy.get(key) ?? 0), `counters of key ${key}`)
    }
  }

  /** Ends everything: then all is free that was not charged. */
  async finish(): Promise<void> {
    await this.quiet()
    while (this.open.length > 0) this.end(0, 0.5)
    for (let i = 0; i < 3; i++) {
      await this.quiet()
      for (const worker of this.workers) worker.giveAllBack()
    }
    await this.quiet()
    await this.check()
    const { coin, out } = await this.snapshot()
    assert.deepEqual([coin, out], [FUNDS - this.chargedUnits, 0], 'all is free at the end')
  }

  private held(open: Open, { caps }: Waiting): void {
    this.open.push(open)
    const { key, hour } = open
    const held = unitsIn(this.open)
    assert.ok(held + this.chargedUnits <= FUNDS, `held ${held} and charged ${this.chargedUnits}`)
    const most = key === KEYS - 1 ? PLATFORM_CAP : Math.max(...caps)
    const spent = this.spentIn(key, hour)
    assert.ok(spent <= most, `key ${key} has ${spent} of ${most} in its hour`)
  }

  /** Nobody is refused what the account and the cap have, wherever it lies. */
  private refused({ code }: Outcome, { key, units, caps }: Waiting): void {
    if (this.isDisturbed || code === HoldCode.CLOSED) return
    const waitingUnits = unitsIn([...this.waiting])
    const free = FUNDS - this.chargedUnits - unitsIn(this.open) - waitingUnits
    const cap = key === KEYS - 1 ? PLATFORM_CAP : Math.min(...caps)
    const left = Math.min(free, cap - this.spentIn(key, this.hour) - waitingUnits)
    assert.ok(left < units, `refused ${units} of ${left} with code ${code}`)
  }

  private spentIn(key: number, hour: number): number {
    const held = this.open.filter((one) => one.key === key && one.hour === hour)
    return unitsIn(held) + (this.chargedIn.get(`${key}/${hour}`) ?? 0)
  }

  private get hour(): number {
    return Math.floor(this.nowMs / HOUR_MS)
  }

  private keyId(key: number): string {
    return `key_${key}${this.accountId}`
  }

  private get platformId(): string {
    return `key_p${this.accountId}`
  }

  private nextEpoch(): string {
    return `epoch${++this.epoch}`
  }

  private async setClock(): Promise<void> {
    const [seconds, rest] = [Math.floor(this.nowMs / 1_000), Math.floor(this.nowMs % 1_000)]
    await this.redis.hset(`clock:${shardTag(this.shard)}`, { s: seconds, u: rest * 1_000 })
  }

  private newWorker(): ModelWorker {
    return new ModelWorker(this, this.scripts, () => this.workers)
  }

  private principalOf(key: number): Principal {
    const capOf = (units: number | null) => (units === null ? [] : [{ span: 'hour', units }])
    const platform = { keyId: this.platformId, caps: capOf(PLATFORM_CAP) }
    const record = { keyId: this.keyId(key), accountId: this.accountId, shard: this.shard }
    const known = { privacyKnown: true, settingsKnown: true, caps: capOf(this.caps[key] ?? null) }
    return toPrincipal(sluice.KeyRecord.create({ ...record, ...known, ...(key === KEYS - 1 && { platform }) }), limits)
  }

  private async snapshot() {
    const { shard } = this
    const counters = CAPS.map((_, key) => keyCountersKey(shard, this.keyId(key)))
    const owners = [...this.workers, ...this.gone].map(({ owner }) => leasesKey(shard, owner))
    const found = await this.scripts.snapshot(accountKey(shard, this.accountId), counters, owners)
    return { ...found, leases: found.leases.flatMap(leasesIn) }
  }
}
