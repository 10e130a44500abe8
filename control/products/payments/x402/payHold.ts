import { encodeHoldMeta } from '../../../../contract/wire/holdMeta.ts'
import type { Redis } from '../../../../contract/wire/redis.ts'
import {
  accountKey,
  epochKey,
  holdsKey,
  keyCountersKey,
  ledgerStream,
  OWNERS_KEY,
  shardOf,
} from '../../../../contract/wire/redisKeys.ts'
import { controlScript } from '../../../admission/scripts.ts'
import type { Pool } from '../../../runtime/db/pool.ts'
import type { PaymentsLimits } from '../limits.ts'
import type { PaymentRow } from './paymentRow.ts'

/** Codes that payHold.lua answers with. */
const PayHoldCode = { OK: 0, CLOSED: 1, LATE: 2, BEHIND: 3, BALANCE: 4, BACKLOG: 5 } as const

const scripts = new WeakMap<Redis, ReturnType<typeof controlScript>>()

function scriptOn(redis: Redis): ReturnType<typeof controlScript> {
  const known = scripts.get(redis) ?? controlScript(redis, 'payHold')
  scripts.set(redis, known)
  return known
}

/** `later`: not now, but a retry may succeed. `late`: no hold may be taken for the request any more. */
export type PayHold = { readonly heldAtMs: number } | 'later' | 'late'

/**
 * Takes the hold of a request that is paid, in the name of the proxy that serves it.
 * @throws errors of Redis and PostgreSQL; then the hold may or may not exist
 */
export async function takePaidHold(
  redis: Redis,
  pool: Pool,
  payment: PaymentRow,
  limits: PaymentsLimits,
): Promise<PayHold> {
  const { accountId, id, owner } = payment
  const shard = shardOf(accountId)
  // If the proxy is gone and its journal is replayed, no process is left to end the hold.
  if ((await redis.zscore(OWNERS_KEY, owner)) === null) return 'later'
  const events = await pool.query<{ seq: number; coin_delta: number }>(
    'SELECT seq, coin_delta FROM admission_events WHERE account_id = $1 ORDER BY seq LIMIT $2',
    [accountId, limits.admissionEventsBatchMax],
  )
  const reply = await scriptOn(redis)(
    [
      epochKey(shard),
      accountKey(shard, accountId),
      keyCountersKey(shard, accountId),
      holdsKey(shard, owner),
      ledgerStream(shard),
    ],
    [
      id,
      accountId,
      accountId,
      payment.holdUnits,
      encodeHoldMeta(payment),
      payment.serveByMs,
      limits.ledgerStreamEntriesMax,
      ...events.rows.flatMap((event) => [event.seq, event.coin_delta]),
    ],
  )
  const [code, heldAtMs] = reply as [number, number]
  if (code === PayHoldCode.OK) return { heldAtMs }
  return code === PayHoldCode.LATE ? 'late' : 'later'
}

/** Whether the hold of a request exists. */
export async function isHeld(redis: Redis, payment: PaymentRow): Promise<boolean> {
  return (await redis.hexists(holdsKey(shardOf(payment.accountId), payment.owner), payment.id)) === 1
}
