import type { Redis } from '../../contract/wire/redis.ts'
import { leasesKey } from '../../contract/wire/redisKeys.ts'
import { pipelineOf } from '../../contract/wire/redisShards.ts'
import { scanLeasesKeys } from '../admission/leaseRecord.ts'
import { answersOf } from '../admission/scripts.ts'
import { addRun, type OwnerPosition, readOpenPositions } from '../book/settlement/ownerPositions.ts'
import type { Client } from '../runtime/db/pool.ts'
import { type AuditCheck, Faults } from './check.ts'
import type { Unread } from './unread.ts'

/** How far a proxy process has delivered endings to a shard, and how far they are booked. */
export interface Delivery {
  readonly position: OwnerPosition
  /** Number of the last ending that Redis took; undefined where it has nothing of the owner in the shard. */
  readonly deliveredSeq: number | undefined
}

/**
 * Reads how far proxies have delivered: those that live, and those that Redis remembers. To be read before the streams, which
 * may have more then but never less.
 */
export async function readDeliveries(client: Client, redis: Redis): Promise<Delivery[]> {
  const remembered = await scanLeasesKeys(redis)
  const owners = [...new Set(remembered.map(({ owner }) => owner))]
  const positions = new Map((await readOpenPositions(client, owners)).map((position) => [nameOf(position), position]))
  for (const { owner, shard } of remembered) {
    const name = nameOf({ owner, shard })
    if (!positions.has(name)) positions.set(name, { owner, shard, seq: 0, ahead: [] })
  }
  const all = [...positions.values()]
  const pipeline = pipelineOf(redis)
  for (const { owner, shard } of all) pipeline.hmget(leasesKey(shard, owner), 'seq', 'op')
  const found = answersOf(await pipeline.exec()) as (string | null)[][]
  return all.map((position, i) => {
    const [seq, op] = found[i] ?? []
    return { position, deliveredSeq: seq == null && op == null ? undefined : Number(seq ?? 0) }
  })
}

/** Every ending that was delivered is booked, or waits in its stream: no number is missing. */
export function checkDeliveries(deliveries: readonly Delivery[], unread: Unread): AuditCheck {
  const faults = new Faults()
  const known = new Map(deliveries.map((delivery) => [nameOf(delivery.position), delivery]))
  for (const { owner, shard, ...run } of unread.runs) {
    const before = known.get(nameOf({ owner, shard })) ?? {
      position: { owner, shard, seq: 0, ahead: [] },
      deliveredSeq: undefined,
    }
    known.set(nameOf({ owner, shard }), { ...before, position: { owner, shard, ...addRun(before.position, run) } })
  }
  for (const { position, deliveredSeq } of known.values()) {
    const { owner, shard, seq, ahead } = position
    const next = ahead[0]
    if (next !== undefined)
      faults.add(`${owner} in shard ${shard}: endings ${seq + 1} to ${next.first - 1} are missing`)
    else if (deliveredSeq !== undefined && deliveredSeq > seq)
      faults.add(`${owner} in shard ${shard}: ending ${deliveredSeq} is lost behind ${seq}`)
  }
  return faults.check('every ending that was delivered is booked or waits', `${known.size} positions of proxies`)
}

const nameOf = ({ owner, shard }: { owner: string; shard: number }): string => `${shard} ${owner}`
