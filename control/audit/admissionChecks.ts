import { setTimeout as sleep } from 'node:timers/promises'
import type { Redis } from '../../contract/wire/redis.ts'
import { BATCH_OWNER, epochKey, OWNERS_KEY, SHARD_COUNT } from '../../contract/wire/redisKeys.ts'
import { pipelineOf } from '../../contract/wire/redisShards.ts'
import { HeldParts } from '../admission/heldParts.ts'
import type { HoldRecord } from '../admission/holdRecord.ts'
import { listLeases, scanLeasesKeys } from '../admission/leaseRecord.ts'
import { listHolds } from '../admission/listHolds.ts'
import { answersOf } from '../admission/scripts.ts'
import { windowsAt } from '../admission/windows.ts'
import { textArray } from '../runtime/db/arrays.ts'
import type { Client, Pool } from '../runtime/db/pool.ts'
import { redisNowMs } from '../runtime/redisClock.ts'
import { compareBalances } from './admissionBalances.ts'
import { compareKeys, shareSpending } from './admissionKeys.ts'
import { checkBatchHolds } from './batchChecks.ts'
import { type AuditCheck, Faults } from './check.ts'
import { addDebits } from './debitChecks.ts'
import { checkDeliveries, readDeliveries } from './deliveryChecks.ts'
import { checkLeaseOwners } from './leaseChecks.ts'
import type { AuditLimits } from './limits.ts'
import { checkPositions } from './positionChecks.ts'
import { inSnapshot } from './snapshot.ts'
import { readUnread } from './unread.ts'

const RECHECK_MS = 200
/** How long the holds of a proxy process may exist beyond the time after which they are voided. */
const GRACE_MS = 60_000

/**
 * Compares Redis with the book. Money moves while they are read one after the other, so differences are checked again a few
 * times: a difference that remains is a fault.
 */
export async function checkAdmission(pool: Pool, redis: Redis, limits: AuditLimits): Promise<AuditCheck[]> {
  let checks: AuditCheck[] = []
  for (let attempt = 0; attempt < limits.auditRechecksMax; attempt++) {
    if (attempt > 0) await sleep(RECHECK_MS)
    checks = await inSnapshot(pool, (client) => compareOnce(client, redis, limits))
    if (checks.every((check) => check.ok)) break
  }
  return checks
}

async function compareOnce(client: Client, redis: Redis, limits: AuditLimits): Promise<AuditCheck[]> {
  const nowMs = await redisNowMs(redis)
  const windows = windowsAt(nowMs)
  const deliveries = await readDeliveries(client, redis)
  const unread = await readUnread(client, redis, limits)
  const holds = await listHolds(redis)
  const held = new HeldParts(windows)
  for (const hold of holds) held.add(hold)
  const leases = await listLeases(redis, await scanLeasesKeys(redis))
  for (const lease of leases) held.addLease(lease)
  const ofBatches = holds.filter((hold) => hold.owner === BATCH_OWNER)
  const own = holds.filter((hold) => hold.owner !== BATCH_OWNER)
  const debits = await addDebits(client, redis, held, nowMs, limits)
  const balances = new Faults()
  const accounts = await compareBalances(client, redis, { unread, held }, balances, limits)
  await shareSpending(client, windows, unread, held)
  const beats = await readBeats(redis)
  const counters = new Faults()
  const keys = await compareKeys({ client, redis, windows, unread, held }, counters, limits)
  return [
    await checkEpochs(client, redis),
    balances.check('admission balances equal the book', `${accounts} accounts`),
    counters.check('admission key counters equal the book', `${keys} keys`),
    {
      name: 'streams are read',
      ok: true,
      detail: `${unread.entries} entries not booked yet, ${unread.booked} booked and not removed, ${unread.pending} pending`,
    },
    checkDeliveries(deliveries, unread),
    checkPositions(deliveries, beats),
    debits,
    await checkEnded(client, holds, limits),
    checkOwners(own, beats, nowMs, limits),
    checkAges(own, nowMs, limits),
    checkLeaseOwners(leases, beats, nowMs, limits),
    await checkBatchHolds(client, ofBatches, nowMs, limits),
  ]
}

async function checkEpochs(client: Client, redis: Redis): Promise<AuditCheck> {
  const faults = new Faults()
  const state = await client.query<{ epoch: string }>('SELECT epoch FROM admission_state')
  const epoch = state.rows[0]?.epoch ?? ''
  const pipeline = pipelineOf(redis)
  for (let shard = 0; shard < SHARD_COUNT; shard++) pipeline.get(epochKey(shard))
  for (const [shard, found] of answersOf(await pipeline.exec()).entries()) {
    if (found === null || found !== epoch) faults.add(`shard ${shard} has ${found ?? 'no'} epoch, the book ${epoch}`)
  }
  const dirty = await client.query<{ shard: number; reason: string }>('SELECT shard, reason FROM admission_dirty')
  for (const { shard, reason } of dirty.rows) faults.add(`shard ${shard} waits to be loaded again: ${reason}`)
  return faults.check('admission is open with one epoch', `epoch ${epoch}`)
}

async function checkEnded(client: Client, holds: readonly HoldRecord[], limits: AuditLimits): Promise<AuditCheck> {
  const faults = new Faults()
  for (let i = 0; i < holds.length; i += limits.auditPageMax) {
    const page = holds.slice(i, i + limits.auditPageMax)
    const ended = await client.query<{ request_id: string }>(
      'SELECT request_id FROM receipts WHERE request_id = ANY ($1::text[])',
      [textArray(page.map((hold) => hold.requestId))],
    )
    for (const row of ended.rows) faults.add(`${row.request_id} is held and has a receipt`)
  }
  return faults.check('no ended request is held', `${holds.length} holds`)
}

/** The last heartbeat of each proxy process, on Redis's clock. */
async function readBeats(redis: Redis): Promise<Map<string, number>> {
  const replies = await redis.zrange(OWNERS_KEY, '0', '-1', 'WITHSCORES')
  const beats = new Map<string, number>()
  for (let i = 0; i + 1 < replies.length; i += 2) beats.set(replies[i] ?? '', Number(replies[i + 1]))
  return beats
}

function checkOwners(
  holds: readonly HoldRecord[],
  beats: ReadonlyMap<string, number>,
  nowMs: number,
  limits: AuditLimits,
): AuditCheck {
  const faults = new Faults()
  for (const { requestId, owner } of holds) {
    const beat = beats.get(owner)
    if (beat === undefined) faults.add(`${requestId} of ${owner}, which is unknown`)
    else if (nowMs - beat > limits.orphanVoidMs + GRACE_MS) faults.add(`${requestId} of ${owner}, silent since ${beat}`)
  }
  return faults.check('every hold has a living owner', `${holds.length} holds of ${beats.size} owners`)
}

function checkAges(holds: readonly HoldRecord[], nowMs: number, limits: AuditLimits): AuditCheck {
  const faults = new Faults()
  for (const { requestId, heldAtMs } of holds) {
    if (nowMs - heldAtMs > limits.holdAgeMaxMs) faults.add(`${requestId} is held since ${heldAtMs}`)
  }
  const oldest =
    holds[0] === undefined ? 'no holds' : `the oldest hold is ${Math.max(0, nowMs - holds[0].heldAtMs)} ms old`
  return faults.check('no hold outlived its request', oldest)
}
