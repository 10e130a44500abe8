import type { sluice } from '../../../contract/wire/generated/messages.js'
import { connectRedis, type Redis } from '../../../contract/wire/redis.ts'
import { RECALL_CHANNEL, REPORT_CHANNEL, REPORTED_KEY, shardOf } from '../../../contract/wire/redisKeys.ts'
import { LeaseCode } from '../../../contract/wire/scripts.ts'
import { noteOwner } from '../../../control/book/settlement/proxyOwners.ts'
import { itemOf, present } from '../present.ts'
import { LeaseOwner, type LeaseWish, type Pots } from './leaseOwner.ts'
import { endingOf } from './leaseState.ts'
import type { Book } from './ledger.ts'

/** Units by pot: 'coin', or the id of a grant. */
type Parts = Record<string, number>

interface Held {
  readonly wish: Pick<LeaseWish, 'accountId' | 'keyId' | 'platform'>
  readonly field: string
  readonly parts: Parts
}

/** An ending that is not known to be booked. */
interface Ending extends Held {
  readonly shard: number
  readonly seq: number
  readonly ended: sluice.IEnded
}

/**
 * A worker of the proxy in small: takes holds on its leases, delivers their endings, and answers the channels of Redis. What a
 * journal would have is in its memory.
 */
export class LeaseWorker {
  readonly calls: LeaseOwner
  readonly open = new Map<string, Held>()
  private readonly book: Book
  private readonly subscriber: Redis
  /** Free in memory, by name of the lease. */
  private readonly free = new Map<string, Held>()
  private readonly endings: Ending[] = []
  private readonly lastSeqs = new Map<number, number>()

  constructor(book: Book) {
    this.book = book
    this.calls = new LeaseOwner(book.redis)
    this.subscriber = connectRedis(book.redisServer.url, 'wait')
    this.subscriber.on('error', () => {})
    this.subscriber.on('message', (channel: string, text: string) => {
      const work = channel === REPORT_CHANNEL ? this.report(text) : this.returnFree(text)
      work.catch(() => {})
    })
  }

  get owner(): string {
    return this.calls.owner
  }

  /** @param hears whether it answers recalls and calls for reports */
  static async start(book: Book, { hears = true } = {}): Promise<LeaseWorker> {
    const worker = new LeaseWorker(book)
    if (hears) await worker.subscriber.subscribe(RECALL_CHANNEL, REPORT_CHANNEL)
    await noteOwner(book.pool, worker.owner)
    await worker.calls.beat()
    await worker.calls.open()
    return worker
  }

  stop(): void {
    this.subscriber.disconnect()
  }

  /** Leases units that stay free in memory. @returns the code of the wish */
  async lease(wish: LeaseWish): Promise<number> {
    const leased = await this.calls.leaseOne(wish)
    const field = await this.calls.fieldNow(wish)
    const parts: Parts = { coin: leased.coin }
    for (const { id, units } of leased.grants) parts[id] = units
    const known = this.free.get(field) ?? { wish, field, parts: {} }
    this.free.set(field, { ...known, parts: added(known.parts, parts) })
    return leased.code
  }

  /** Holds units for a request, from a lease of just these. @returns the id of the hold */
  async hold(accountId: string, units: number, more: Pick<LeaseWish, 'keyId' | 'platform'> = {}): Promise<string> {
    const wish = { ...more, accountId, want: units }
    const code = await this.lease(wish)
    if (code !== LeaseCode.OK) throw new Error(`lease.lua answered ${code}`)
    const field = await this.calls.fieldNow(wish)
    const free = present(this.free.get(field))
    const parts = taken(free.parts, units)
    this.free.set(field, { ...free, parts: added(free.parts, parts, -1) })
    const id = `${this.open.size}-${field}-${this.endings.length}`
    this.open.set(id, { wish, field, parts })
    return id
  }

  /** Ends a request: charged in memory, and what is left of its hold free there. */
  end(id: string, units: number): void {
    const held = present(this.open.get(id))
    this.open.delete(id)
    const charged = taken(held.parts, units)
    const free = this.free.get(held.field) ?? { ...held, parts: {} }
    this.free.set(held.field, { ...free, parts: added(free.parts, added(held.parts, charged, -1)) })
    const shard = shardOf(held.wish.accountId)
    const seq = (this.lastSeqs.get(shard) ?? 0) + 1
    this.lastSeqs.set(shard, seq)
    const split = Object.entries(charged).map(([pot, part]) => `${pot}=${part}`)
    const ended = endingOf(held.wish.accountId, units, split.join(','))
    if (ended.settlement && held.wish.keyId !== undefined) ended.settlement.keyId = held.wish.keyId
    this.endings.push({ ...held, parts: charged, shard, seq, ended })
  }

  /** Delivers what has ended and gives back what is free in a shard. @returns the code */
  async deliver(shard: number, { giveBack = true } = {}): Promise<number> {
    const waiting = this.endings.filter((some) => some.shard === shard && some.seq > (this.calls.seqs.get(shard) ?? 0))
    const free = [...this.free.values()].filter(({ wish }) => shardOf(wish.accountId) === shard)
    const returned = giveBack ? free : []
    const names = new Set([...waiting, ...returned].map(({ field }) => field))
    const changes = [...names].map((field) => {
      const own = waiting.filter((some) => some.field === field)
      const { wish } = itemOf([...own, ...returned.filter((some) => some.field === field)], 0)
      const charged = own.reduce((sum, { parts }) => added(sum, parts), {})
      const back = returned.find((some) => some.field === field)?.parts ?? {}
      return { ...namesOf(wish), field, charged: potsOf(charged), returned: potsOf(back) }
    })
    const { code } = await this.calls.deliver(
      shard,
      waiting.map(({ ended }) => ended),
      changes,
    )
    if (code === LeaseCode.OK) for (const { field } of returned) this.free.delete(field)
    return code
  }

  /** Gives back what is free of an account. */
  async returnFree(accountId: string): Promise<void> {
    await this.deliver(shardOf(accountId))
  }

  /** What a worker does when its leases may be lost. @param load '' while admission is open */
  async report(load: string): Promise<void> {
    const booked = new Map(
      (await noteOwner(this.book.pool, this.owner)).map(({ shard, seq }) => [shard ?? 0, seq ?? 0]),
    )
    this.free.clear()
    const shards = new Set([
      ...this.lastSeqs.keys(),
      ...[...this.open.values()].map(({ wish }) => shardOf(wish.accountId)),
    ])
    for (const shard of shards) {
      const bookedSeq = booked.get(shard) ?? 0
      const waiting = this.endings.filter((some) => some.shard === shard && some.seq > bookedSeq)
      const open = [...this.open.values()].filter(({ wish }) => shardOf(wish.accountId) === shard)
      const byField = new Map<string, Held>()
      for (const held of [...waiting, ...open]) {
        const known = byField.get(held.field) ?? { ...held, parts: {} }
        byField.set(held.field, { ...known, parts: added(known.parts, held.parts) })
      }
      const leases = [...byField.values()].map(({ wish, field, parts }) => ({
        ...namesOf(wish),
        field,
        out: potsOf(parts),
      }))
      await this.calls.report(shard, leases, { load: load === '' ? '' : Number(load), bookedSeq })
      this.calls.seqs.set(shard, bookedSeq)
    }
    if (load !== '') await this.book.redis.hset(REPORTED_KEY, this.owner, load)
  }
}

function namesOf({ accountId, keyId, platform }: Held['wish']): {
  accountId: string
  keyId?: string
  platformKeyId?: string
} {
  return { accountId, ...(keyId !== undefined && { keyId }), ...(platform && { platformKeyId: platform.keyId }) }
}

function potsOf({ coin = 0, ...grants }: Parts): Pots {
  return { coin, grants }
}

function added(one: Parts, other: Parts, sign = 1): Parts {
  const sum = { ...one }
  for (const [pot, units] of Object.entries(other)) sum[pot] = (sum[pot] ?? 0) + sign * units
  return sum
}

/** As many units of the parts, grants before coin. */
function taken(parts: Parts, units: number): Parts {
  const result: Parts = {}
  let left = units
  for (const [pot, part] of Object.entries(parts).sort(([a], [b]) => Number(a === 'coin') - Number(b === 'coin'))) {
    const some = Math.min(part, left)
    if (some > 0) result[pot] = some
    left -= some
  }
  return result
}
