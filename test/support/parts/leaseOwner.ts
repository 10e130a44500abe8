import { UNITS_PER_USD } from '../../../contract/money/units.ts'
import { NO_CAPS as NONE } from '../../../contract/money/windows.ts'
import { capArguments } from '../../../contract/wire/caps.ts'
import { coinPartText } from '../../../contract/wire/coinPart.ts'
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
import { defineScript, type Script } from '../../../contract/wire/scripts.ts'
import { chargesField, parseCharges } from '../../../contract/wire/unsettled.ts'
import { limits } from '../limits.ts'

/** Caps of a key as `capArguments` makes them. */
export type Caps = readonly string[]
export const NO_CAPS: Caps = capArguments(NONE)

/** What is asked of lease.lua for one key. */
export interface LeaseWish {
  readonly accountId: string
  readonly keyId?: string
  readonly want: number
  /** Of the first request that waits; `want` when absent. */
  readonly least?: number
  readonly waiting?: number
  readonly extraUnits?: number
  readonly extraPermits?: number
  /** What the lease may rest with beyond `want`. */
  readonly rest?: { readonly most: number; readonly least?: number; readonly free?: number }
  readonly caps?: Caps
  /** "interval,burst" in microseconds. */
  readonly rate?: string
  /** Units in one coin; one US dollar when absent. */
  readonly coinUsdUnits?: number
  /** "seriesId,units of a micro-token" of the holding that alone is leased from. */
  readonly lock?: string
  readonly platform?: { readonly keyId: string; readonly caps: Caps }
}

export interface Leased {
  readonly code: number
  readonly units: number
  readonly retryAfterMs: number
  readonly permits: number
  readonly coin: number
  readonly grants: { readonly id: string; readonly expiresAtMs: number; readonly units: number }[]
  readonly out: number
  readonly mayRest: boolean
}

/** Units of coin and of grants; the nanos of the coin are as many where absent. */
export interface Pots {
  readonly coin?: number
  readonly nanos?: number
  readonly grants?: Readonly<Record<string, number>>
}

/** One lease in a call of deliver.lua. */
export interface LeaseChange {
  readonly accountId: string
  readonly keyId?: string
  readonly platformKeyId?: string
  /** The name of the lease; that of this hour when absent. */
  readonly field?: string
  readonly charged?: Pots
  readonly returned?: Pots
  /** "count,interval". */
  readonly permits?: string
}

/** One lease in a call of reportLeases.lua. */
export interface LeaseReport extends Omit<LeaseChange, 'charged' | 'returned' | 'permits'> {
  readonly out: Pots
}

/** What the calls of deliver.lua, syncLeases.lua and reportLeases.lua answer a whole call with. */
export interface CallAnswer {
  readonly code: number
  readonly delivered: number
}

/** The key of an account in tests that do not care which. */
export const keyOf = (accountId: string): string => accountId.replace('acct', 'key')

const partsText = (grants: Readonly<Record<string, number>> = {}): string =>
  Object.entries(grants)
    .map(([id, units]) => `${id}=${units}`)
    .join(',')

/** What a worker of the proxy is to Redis: leases units, delivers endings, reports, by the scripts of the contract. */
export class LeaseOwner {
  readonly owner: string
  /** The epoch that this owner knows; read by `open`. */
  epoch = ''
  /** Number of the last call. */
  op = 0
  /** By shard, the number of the last ending that was delivered. */
  readonly seqs = new Map<number, number>()
  private readonly redis: Redis
  private readonly scripts: Record<'lease' | 'deliver' | 'syncLeases' | 'reportLeases' | 'heartbeat', Script>

  constructor(redis: Redis, owner: string = newId('own')) {
    this.redis = redis
    this.owner = owner
    this.scripts = {
      lease: defineScript(redis, 'lease'),
      deliver: defineScript(redis, 'deliver'),
      syncLeases: defineScript(redis, 'syncLeases'),
      reportLeases: defineScript(redis, 'reportLeases'),
      heartbeat: defineScript(redis, 'heartbeat'),
    }
  }

  /** Reads the epoch in force. */
  async open(shard = 0): Promise<void> {
    this.epoch = (await this.redis.get(epochKey(shard))) ?? ''
  }

  async beat(): Promise<void> {
    await this.scripts.heartbeat(['owners'], [this.owner])
  }

  /** Leases for keys of one shard. @returns the code of the call, and what became of each wish when it is 0 */
  async lease(
    wishes: readonly LeaseWish[],
    { op = ++this.op, streamMax = 1_000_000 } = {},
  ): Promise<[number, Leased[]]> {
    const shard = shardOf(wishes[0]?.accountId ?? '')
    const keys = [epochKey(shard), leasesKey(shard, this.owner), ledgerStream(shard)]
    const args: (string | number)[] = [this.epoch, op, streamMax, limits.leaseRestParts, wishes.length]
    for (const wish of wishes) {
      keys.push(accountKey(shard, wish.accountId), keyCountersKey(shard, wish.keyId ?? keyOf(wish.accountId)))
      args.push(wish.accountId, wish.keyId ?? keyOf(wish.accountId), wish.waiting ?? 1, wish.least ?? wish.want)
      args.push(wish.want, wish.extraUnits ?? 0, wish.extraPermits ?? 0, ...(wish.caps ?? NO_CAPS), wish.rate ?? '')
      args.push(wish.coinUsdUnits ?? UNITS_PER_USD, wish.lock ?? '')
      args.push(wish.rest?.most ?? 0, wish.rest?.least ?? 1, wish.rest?.free ?? 0)
    }
    for (const [place, { platform }] of wishes.entries()) {
      if (platform === undefined) continue
      keys.push(keyCountersKey(shard, platform.keyId))
      args.push(place, platform.keyId, ...platform.caps)
    }
    const [code, , ...fields] = (await this.scripts.lease(keys, args)) as [number, number, ...unknown[]]
    if (code !== 0) return [code, []]
    return [code, wishes.map((_, i) => leasedOf(fields.slice(i * 9, i * 9 + 9)))]
  }

  /** Leases for one key. @returns its part of the answer */
  async leaseOne(wish: LeaseWish): Promise<Leased> {
    const [code, [leased]] = await this.lease([wish])
    if (leased === undefined) throw new Error(`lease.lua answered ${code}`)
    return leased
  }

  /**
   * Delivers endings and what leases of one shard no longer need.
   * @param options `from`, the number of the first ending, which follows the last one when absent; `unsettled`, by lease all
   *   charges that are not settled
   */
  async deliver(
    shard: number,
    endings: readonly sluice.IEnded[],
    changes: readonly LeaseChange[] = [],
    options: { op?: number; from?: number; unsettled?: ReadonlyMap<string, Pots> } = {},
  ): Promise<CallAnswer & { readonly permitsLeft?: string }> {
    const { op = ++this.op, from = (this.seqs.get(shard) ?? 0) + 1, unsettled = new Map<string, Pots>() } = options
    const to = from + endings.length - 1
    const batch = sluice.EndingBatch.encode({ owner: this.owner, from, endings: [...endings] }).finish()
    const keys = [epochKey(shard), leasesKey(shard, this.owner), ledgerStream(shard)]
    const numbers = endings.length === 0 ? [0, 0] : [from, to]
    const args: (string | number | Buffer)[] = [this.epoch, op, ...numbers, Buffer.from(batch), changes.length, 0]
    for (const change of changes) {
      keys.push(...changeKeys(shard, change))
      const { charged, returned, permits = '' } = change
      args.push(change.field ?? (await this.fieldNow(change)), change.accountId, keysText(change))
      args.push(coinText(charged), partsText(charged?.grants), coinText(returned), partsText(returned?.grants), permits)
    }
    for (const [field, pots] of unsettled) {
      args.push(chargesField(field), `${coinText(pots)}|${partsText(pots.grants)}`)
    }
    args.push(limits.rememberResultMinutes)
    const [code, , delivered, , permitsLeft] = (await this.scripts.deliver(keys, args)) as unknown[]
    if (code === 0 && endings.length > 0) this.seqs.set(shard, to)
    const answer = { code: Number(code), delivered: Number(delivered) }
    return permitsLeft ? { ...answer, permitsLeft: String(permitsLeft) } : answer
  }

  /** @returns the code, the last ending that was delivered, and the texts of the leases by name */
  async sync(shard: number, op = ++this.op): Promise<CallAnswer & { leases: Map<string, string> }> {
    const keys = [epochKey(shard), leasesKey(shard, this.owner)]
    const reply = (await this.scripts.syncLeases(keys, [this.epoch, op])) as (number | string)[]
    const leases = new Map<string, string>()
    for (let i = 4; i + 1 < reply.length; i += 2) {
      if (String(reply[i]).startsWith('L:')) leases.set(String(reply[i]), String(reply[i + 1]))
    }
    return { code: Number(reply[0]), delivered: Number(reply[2]), leases }
  }

  /** Reports what of its leases is in open holds and in endings that are not booked. @param load '' while admission is open */
  async report(
    shard: number,
    leases: readonly LeaseReport[],
    { load = '' as number | '', op = ++this.op, bookedSeq = 0 } = {},
  ): Promise<number> {
    const keys = [epochKey(shard), leasesKey(shard, this.owner), loadGuardKey(shard)]
    const args: (string | number)[] = [load, op, bookedSeq]
    for (const lease of leases) {
      keys.push(...changeKeys(shard, lease))
      args.push(lease.field ?? (await this.fieldNow(lease)), lease.accountId, keysText(lease))
      args.push(`${coinText(lease.out)}|${partsText(lease.out.grants)}`)
    }
    const [code] = (await this.scripts.reportLeases(keys, args)) as number[]
    return Number(code)
  }

  /** The charges that are not settled in a shard, by the name of their lease. */
  async unsettled(shard: number): Promise<Map<string, ReturnType<typeof parseCharges>>> {
    const fields = Object.entries(await this.redis.hgetall(leasesKey(shard, this.owner)))
    const charges = fields.filter(([name]) => name.startsWith('C:'))
    return new Map(charges.map(([name, text]) => [`L${name.slice(1)}`, parseCharges(text)]))
  }

  /** The texts of the leases in a shard, by name. */
  async leases(shard: number): Promise<Record<string, string>> {
    const fields = await this.redis.hgetall(leasesKey(shard, this.owner))
    return Object.fromEntries(Object.entries(fields).filter(([name]) => name.startsWith('L:')))
  }

  /** The name of a key's lease in this hour of Redis's clock. */
  async fieldNow({ accountId, keyId = keyOf(accountId) }: { accountId: string; keyId?: string }): Promise<string> {
    return `L:${keyId}:${Math.floor(Number((await this.redis.time())[0]) / 3_600)}`
  }
}

function leasedOf(fields: readonly unknown[]): Leased {
  const [code, units, retryAfterMs, permits, coin, grants, out, , rests] = fields
  const parts = String(grants)
    .split(';')
    .filter((part) => part !== '')
  return {
    code: Number(code),
    units: Number(units),
    retryAfterMs: Number(retryAfterMs),
    permits: Number(permits),
    coin: Number(coin),
    grants: parts.map((part) => {
      const [id = '', expiresAtMs, free] = part.split(',')
      return { id, expiresAtMs: Number(expiresAtMs), units: Number(free) }
    }),
    out: Number(out),
    mayRest: rests === 1,
  }
}

function changeKeys(
  shard: number,
  { accountId, keyId = keyOf(accountId) }: { accountId: string; keyId?: string },
): string[] {
  return [accountKey(shard, accountId), keyCountersKey(shard, keyId)]
}

function keysText({
  accountId,
  keyId = keyOf(accountId),
  platformKeyId,
}: Pick<LeaseChange, 'accountId' | 'keyId' | 'platformKeyId'>): string {
  return platformKeyId === undefined ? keyId : `${keyId}/${platformKeyId}`
}

function coinText({ coin = 0, nanos = coin }: Pots = {}): string {
  return coinPartText({ coinUnits: coin, coinNanos: nanos })
}
