import type { Logger } from 'pino'
import type { Redis } from '../../contract/wire/redis.ts'
import { epochKey, ledgerStream, SERVERS_KEY, SHARD_COUNT } from '../../contract/wire/redisKeys.ts'
import { onServersChange, pipelineOf } from '../../contract/wire/redisShards.ts'
import { areKnown, serversOf } from '../../contract/wire/servers.ts'
import { compareStreamIds, parseStreamId } from '../../contract/wire/streamId.ts'
import { dirtyShards } from '../book/settlement/dirtyShards.ts'
import { readPositions } from '../book/settlement/positions.ts'
import { tryLock } from '../runtime/db/locks.ts'
import type { Pool } from '../runtime/db/pool.ts'
import { logEvent } from '../runtime/logEvents.ts'
import { Loop } from '../runtime/loop.ts'
import { withoutDebits } from './debitLock.ts'
import type { AdmissionLimits } from './limits.ts'
import { rebuildAll, reloadShards } from './rebuild.ts'
import { answersOf } from './scripts.ts'

const FIRST_TIME = 'admission opens for the first time'
const REDIS_RESTARTED = 'Redis was started again, or another server took over'

export interface AdmissionOptions {
  readonly pool: Pool
  readonly redis: Redis
  readonly log: Logger
  /** Whether requests may have been served until now, so that admission's closing is a fault; not so at a start. */
  readonly serving?: boolean
  /** Brings back what else the proxies need from Redis, such as the catalog, before admission opens. */
  readonly beforeOpen?: () => Promise<void>
  readonly limits: AdmissionLimits
}

/** 'busy': another control is doing it. */
export type AdmissionCheck = 'unchanged' | 'rebuilt' | 'reloaded' | 'busy'

interface StateRow {
  readonly epoch: string
  readonly redis_run_id: string
}

/**
 * Compares the admission state with its record in the book. Rebuilds it when it was lost or rolled back, or may have been
 * (Redis restarted); reloads single shards that are known to differ.
 * @throws errors of Redis and PostgreSQL; safe to repeat
 */
export async function ensureAdmission(options: AdmissionOptions): Promise<AdmissionCheck> {
  const { pool, redis, log, serving = false, beforeOpen = async () => {} } = options
  if ((await findFault(redis, pool)) === undefined && (await dirtyShards(pool)).length === 0) return 'unchanged'
  const done = await tryLock(pool, 'admission', async (): Promise<AdmissionCheck> => {
    const fault = await findFault(redis, pool)
    const begin = performance.now()
    if (fault !== undefined) {
      // At every start of a whole installation, Redis starts together with control.
      const isUsual = fault === FIRST_TIME || (fault === REDIS_RESTARTED && !serving)
      logEvent(log, isUsual ? 'admission_loading' : 'admission_closed', { reason: fault })
      const servers = await serversOf(redis)
      const epoch = await withoutDebits(pool, () => rebuildAll(redis, pool, servers, beforeOpen, options.limits))
      logEvent(log, 'admission_opened', { epoch, tookMs: Math.round(performance.now() - begin) })
      return 'rebuilt'
    }
    const shards = await dirtyShards(pool)
    if (shards.length === 0) return 'unchanged'
    const { epoch } = await stateOf(pool)
    await withoutDebits(pool, () => reloadShards(redis, pool, shards, epoch, options.limits))
    logEvent(log, 'admission_shards_reloaded', { shards, tookMs: Math.round(performance.now() - begin) })
    return 'reloaded'
  })
  return done ?? 'busy'
}

/**
 * Closes admission when every shard is marked to be reloaded, for example by a migration of the admission state, so that no
 * request is admitted before the reload. @throws errors of Redis and PostgreSQL
 */
export async function closeMarked(pool: Pool, redis: Redis): Promise<void> {
  if ((await dirtyShards(pool)).length < SHARD_COUNT) return
  const pipeline = pipelineOf(redis)
  for (let shard = 0; shard < SHARD_COUNT; shard++) pipeline.del(epochKey(shard))
  answersOf(await pipeline.exec())
}

/** Runs `ensureAdmission` while control runs: at intervals, and after every reconnection to Redis. */
export class AdmissionKeeper {
  private readonly loop: Loop
  private readonly endWatch: () => void

  constructor(options: AdmissionOptions) {
    this.loop = new Loop('admission', options.limits.admissionCheckMs, options.log, async () => {
      if (options.redis.status === 'ready') await ensureAdmission({ ...options, serving: true })
    })
    this.endWatch = onServersChange(options.redis, () => this.wake())
  }

  wake(): void {
    this.loop.wake()
  }

  async stop(): Promise<void> {
    this.endWatch()
    await this.loop.stop()
  }
}

async function stateOf(pool: Pool): Promise<StateRow> {
  const found = await pool.query<StateRow>({
    name: 'admission_state',
    text: 'SELECT epoch, redis_run_id FROM admission_state',
  })
  return found.rows[0] ?? { epoch: '', redis_run_id: '' }
}

/** @returns why the admission state cannot be trusted; undefined when it can */
async function findFault(redis: Redis, pool: Pool): Promise<string | undefined> {
  const state = await stateOf(pool)
  if (state.epoch === '') return FIRST_TIME
  if (!areKnown(await serversOf(redis), state.redis_run_id)) return REDIS_RESTARTED
  // The book first: its positions only grow, so that a stream read later cannot seem to be behind.
  const positions = await readPositions(pool)
  const pipeline = pipelineOf(redis)
  for (let shard = 0; shard < SHARD_COUNT; shard++) pipeline.get(epochKey(shard))
  pipeline.get(SERVERS_KEY)
  const epochs = answersOf(await pipeline.exec())
  const servers = epochs.pop()
  const other = epochs.findIndex((epoch) => epoch !== state.epoch)
  if (other >= 0) return epochs[other] === null ? `shard ${other} has no epoch` : `shard ${other} has another epoch`
  if (servers !== state.redis_run_id) return 'Redis names other servers than the book'
  return findLostEntries(redis, positions)
}

async function findLostEntries(
  redis: Redis,
  positions: Awaited<ReturnType<typeof readPositions>>,
): Promise<string | undefined> {
  const shards = [...positions].filter(([, { last }]) => last.ms > 0)
  const pipeline = pipelineOf(redis)
  for (const [shard] of shards) pipeline.xinfo('STREAM', ledgerStream(shard))
  const infos = (await pipeline.exec()) ?? []
  for (const [i, [shard, { last }]] of shards.entries()) {
    const [error, info] = infos[i] ?? [new Error('no answer'), undefined]
    if (error !== null && !/no such key/.test(error.message)) throw error
    const fields = (info ?? []) as unknown[]
    const known = error === null ? String(fields[fields.indexOf('last-generated-id') + 1]) : '0-0'
    if (compareStreamIds(parseStreamId(known), last) < 0) return `the stream of shard ${shard} lost entries`
  }
  return undefined
}
