import { setTimeout as sleep } from 'node:timers/promises'
import { clusterOf, type Redis } from '../../../contract/wire/redis.ts'
import { LEDGER_GROUP, ledgerStream, SHARD_COUNT } from '../../../contract/wire/redisKeys.ts'
import { pipelineOf } from '../../../contract/wire/redisShards.ts'
import type { BookLimits } from '../limits.ts'
import type { RawEntry } from './entry.ts'

const ALL_SHARDS: readonly number[] = Array.from({ length: SHARD_COUNT }, (_, shard) => shard)
const STREAMS = ALL_SHARDS.map(ledgerStream)
const SHARD_OF_STREAM = new Map(STREAMS.map((stream, shard) => [stream, shard]))
/** A read that is this much overdue hangs on a dead connection. */
const OVERDUE_MS = 3_000
/** The pauses between two looks at the streams of a cluster while they are empty. */
const POLL_MIN_MS = 10
const POLL_MAX_MS = 200
/** Calls that the entries of one batch are removed by, at most. */
const REMOVALS_MAX = 16

type EntryReply = [Buffer, Buffer[] | null]
type StreamReply = [Buffer, EntryReply[]]

function toRaw(shard: number, replies: readonly (EntryReply | null)[]): RawEntry[] {
  const entries: RawEntry[] = []
  for (const reply of replies) if (reply !== null) entries.push({ shard, id: String(reply[0]), fields: reply[1] })
  return entries
}

/** Throws the first error among the answers of a pipeline. */
function answersOf(results: [error: Error | null, result: unknown][] | null): unknown[] {
  return (results ?? []).map(([error, result]) => {
    if (error !== null) throw error
    return result
  })
}

/** Creates the consumer group on every stream where it is missing. */
export async function ensureGroups(redis: Redis): Promise<void> {
  const pipeline = pipelineOf(redis)
  for (const stream of STREAMS) pipeline.xgroup('CREATE', stream, LEDGER_GROUP, '0', 'MKSTREAM')
  for (const [error] of (await pipeline.exec()) ?? []) {
    if (error !== null && !error.message.startsWith('BUSYGROUP')) throw error
  }
}

/** The size of a read of streams. */
interface GroupRead {
  /** The most entries of each stream. */
  readonly countPerStream: number
  /** How long to wait for the first one; absent does not wait. */
  readonly blockMs?: number
  /** Those whose streams are read, one at least; absent for all. */
  readonly shards?: readonly number[]
}

/**
 * Reads all streams together for one consumer of the group. A cluster, where one read cannot block over several slots, is
 * polled instead, with backoff.
 * @param from '>' for entries that were never delivered, '0' for those delivered to this consumer and not acknowledged
 */
export async function readGroup(
  redis: Redis,
  consumer: string,
  from: '>' | '0',
  { countPerStream, blockMs = 0, shards = ALL_SHARDS }: GroupRead,
): Promise<RawEntry[]> {
  const streams = shards.map(ledgerStream)
  const head = ['GROUP', LEDGER_GROUP, consumer, 'COUNT', countPerStream]
  const isCluster = clusterOf(redis) !== undefined
  const call = isCluster
    ? pollStreams(redis, streams, head, from, blockMs)
    : readStreams(redis, streams, head, from, blockMs)
  const overdue = setTimeout(() => redis.disconnect(true), blockMs + OVERDUE_MS)
  try {
    return (await call).flatMap(([stream, entries]) => toRaw(SHARD_OF_STREAM.get(String(stream)) ?? -1, entries))
  } finally {
    clearTimeout(overdue)
  }
}

async function readStreams(
  redis: Redis,
  streams: readonly string[],
  head: readonly (string | number)[],
  from: string,
  blockMs: number,
): Promise<StreamReply[]> {
  const wait = blockMs > 0 ? ['BLOCK', blockMs] : []
  const replies = await redis.callBuffer('XREADGROUP', [
    ...head,
    ...wait,
    'STREAMS',
    ...streams,
    ...streams.map(() => from),
  ])
  return (replies ?? []) as StreamReply[]
}

async function pollStreams(
  redis: Redis,
  streams: readonly string[],
  head: readonly (string | number)[],
  from: string,
  waitMs: number,
): Promise<StreamReply[]> {
  const untilMs = performance.now() + waitMs
  for (let pauseMs = POLL_MIN_MS; ; pauseMs = Math.min(2 * pauseMs, POLL_MAX_MS)) {
    const pipeline = pipelineOf(redis)
    for (const stream of streams) pipeline.callBuffer('XREADGROUP', [...head, 'STREAMS', stream, from])
    const replies = answersOf(await pipeline.exec()) as (StreamReply[] | null)[]
    const found = replies.flatMap((reply) => reply ?? [])
    const leftMs = untilMs - performance.now()
    if (leftMs <= 0 || found.some(([, entries]) => entries.length > 0)) return found
    await sleep(Math.min(pauseMs, leftMs))
  }
}

/** Claims entries of shards that were delivered to another consumer at least `idleMs` ago and not acknowledged. */
export async function claimIdle(
  redis: Redis,
  consumer: string,
  idleMs: number,
  count: number,
  shards: readonly number[],
): Promise<RawEntry[]> {
  const pipeline = pipelineOf(redis)
  for (const shard of shards) {
    pipeline.callBuffer('XAUTOCLAIM', [ledgerStream(shard), LEDGER_GROUP, consumer, idleMs, '0-0', 'COUNT', count])
  }
  const answers = answersOf(await pipeline.exec()) as [Buffer, (EntryReply | null)[]][]
  return answers.flatMap(([, entries], i) => toRaw(shards[i] ?? -1, entries))
}

/**
 * Removes booked entries. They are deleted before they are acknowledged: after a crash in between, the pending entry is empty
 * and the next reader acknowledges it. In the other order, a booked entry would stay in its stream for good.
 */
export async function removeEntries(redis: Redis, entries: readonly RawEntry[], limits: BookLimits): Promise<void> {
  // Redis serves no other command meanwhile, so each call removes few entries.
  const size = Math.max(limits.settlementReadMin, Math.ceil(entries.length / REMOVALS_MAX))
  for (let i = 0; i < entries.length; i += size) await removeAtOnce(redis, entries.slice(i, i + size))
}

async function removeAtOnce(redis: Redis, entries: readonly RawEntry[]): Promise<void> {
  const ids = new Map<number, string[]>()
  for (const { shard, id } of entries) {
    const known = ids.get(shard)
    if (known === undefined) ids.set(shard, [id])
    else known.push(id)
  }
  const pipeline = pipelineOf(redis)
  for (const [shard, list] of ids) {
    pipeline.xdel(ledgerStream(shard), ...list)
    pipeline.xack(ledgerStream(shard), LEDGER_GROUP, ...list)
  }
  answersOf(await pipeline.exec())
}

/** Forgets consumers that died long ago and whose entries others have taken over, so that the groups do not grow. */
export async function forgetDeadConsumers(redis: Redis, idleMs: number): Promise<void> {
  const pipeline = pipelineOf(redis)
  for (const stream of STREAMS) pipeline.xinfo('CONSUMERS', stream, LEDGER_GROUP)
  const removal = pipelineOf(redis)
  for (const [shard, consumers] of (answersOf(await pipeline.exec()) as unknown[][][]).entries()) {
    for (const fields of consumers) {
      const field = (name: string): unknown => fields[fields.indexOf(name) + 1]
      if (field('pending') !== 0 || Number(field('idle')) < idleMs) continue
      removal.xgroup('DELCONSUMER', ledgerStream(shard), LEDGER_GROUP, String(field('name')))
    }
  }
  answersOf(await removal.exec())
}

/** Forgets a consumer that has nothing pending. */
export async function leaveGroup(redis: Redis, consumer: string): Promise<void> {
  const pipeline = pipelineOf(redis)
  for (const stream of STREAMS) pipeline.xpending(stream, LEDGER_GROUP, '-', '+', 1, consumer)
  const pending = answersOf(await pipeline.exec()) as unknown[][]
  const removal = pipelineOf(redis)
  pending.forEach((entries, shard) => {
    if (entries.length === 0) removal.xgroup('DELCONSUMER', ledgerStream(shard), LEDGER_GROUP, consumer)
  })
  await removal.exec()
}
