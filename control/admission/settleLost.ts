import { GatewayError } from '../../contract/errors/errors.ts'
import { UNITS_PER_USD } from '../../contract/money/units.ts'
import { isPayer } from '../../contract/payments/payerAccount.ts'
import { sluice } from '../../contract/wire/generated/messages.js'
import type { Redis } from '../../contract/wire/redis.ts'
import {
  accountKey,
  donePrefix,
  epochKey,
  keyCountersKey,
  ledgerStream,
  shardOf,
} from '../../contract/wire/redisKeys.ts'
import { bookPriceOfSheet } from '../catalog/pricing/coinAmounts.ts'
import type { Pool } from '../runtime/db/pool.ts'
import { redisNowMs } from '../runtime/redisClock.ts'
import { readStream } from './drainStream.ts'
import type { AdmissionLimits } from './limits.ts'
import { takeRecalling } from './recall.ts'
import { controlScript } from './scripts.ts'

const MINUTE_MS = 60_000
/** Codes that settleLost.lua answers with. */
const LostCode = { CHARGED: 0, ENDED_BEFORE: 1, CLOSED: 2, NO_ACCOUNT: 3, OUT_IN_LEASES: 5 } as const

const scripts = new WeakMap<Redis, ReturnType<typeof controlScript>>()

function scriptOn(redis: Redis): ReturnType<typeof controlScript> {
  const known = scripts.get(redis) ?? controlScript(redis, 'settleLost')
  scripts.set(redis, known)
  return known
}

function later(message: string): GatewayError {
  return new GatewayError('admission_unavailable', { message, retryAfterSeconds: 1 })
}

/** The ending of a request: with a charge, or without one because it was abandoned. */
export interface LostEnd {
  readonly chargedUnits: number
  readonly voided: boolean
}

/** As `endLost`. @returns the units charged */
export async function settleLost(
  redis: Redis,
  pool: Pool,
  encoded: Uint8Array,
  limits: AdmissionLimits,
): Promise<number> {
  return (await endLost(redis, pool, encoded, limits)).chargedUnits
}

/**
 * Ends a request whose hold was lost together with Redis: charges the available balance of the account, up to the charge,
 * exactly once. A request that the book knows keeps its ending there.
 * @param encoded the Settlement; a status other than OK and PARTIAL charges nothing
 * @param isShown the charge was shown to the client before: all of it is charged, and the house bears the missing part
 * @throws GatewayError admission_unavailable while this cannot be determined or done; retry later
 */
export async function endLost(
  redis: Redis,
  pool: Pool,
  encoded: Uint8Array,
  limits: AdmissionLimits,
  isShown = false,
): Promise<LostEnd> {
  const settlement = sluice.Settlement.decode(encoded)
  const shard = shardOf(settlement.accountId)
  await requireFreshStream(redis, shard, limits)
  const booked = await pool.query<LostEnd>(
    'SELECT charge_units AS "chargedUnits", voided FROM receipts WHERE request_id = $1',
    [settlement.requestId],
  )
  if (booked.rows[0] !== undefined) return booked.rows[0]
  const platformKeyId = await platformKeyOf(pool, settlement.keyId)
  const coinUsdUnits = await coinPriceOf(pool, settlement)
  const [code, units] = await takeRecalling(
    redis,
    settlement.accountId,
    limits,
    (isLast) => charge(redis, { settlement, platformKeyId, coinUsdUnits, encoded, waits: !isLast, isShown }, limits),
    ([answer]) => answer === LostCode.OUT_IN_LEASES,
  )
  if (code === LostCode.CLOSED) throw later('Admission is closed.')
  if (code === LostCode.NO_ACCOUNT) throw later('Admission does not know the account yet.')
  return { chargedUnits: Math.max(0, units), voided: units < 0 }
}

/**
 * An entry that waits for longer than first results are remembered could be this very request: neither Redis nor the
 * book would know it.
 */
async function requireFreshStream(redis: Redis, shard: number, limits: AdmissionLimits): Promise<void> {
  const [oldest] = await readStream(redis, shard, '-', 1)
  if (oldest === undefined) return
  const ageMs = (await redisNowMs(redis)) - Number(oldest.id.split('-')[0])
  if (ageMs > (limits.rememberResultMinutes * MINUTE_MS) / 2) throw later('Settlement into the book is behind.')
}

/** The platform key of a sub-key, which never changes; '' for every other key. */
async function platformKeyOf(pool: Pool, keyId: string): Promise<string> {
  const found = await pool.query<{ platform_key_id: string }>(
    'SELECT platform_key_id FROM sub_keys WHERE key_id = $1',
    [keyId],
  )
  return found.rows[0]?.platform_key_id ?? ''
}

/**
 * Balances of payers of single requests are kept in units, regardless of the price of coin; abandoning a request takes no coin.
 */
async function coinPriceOf(pool: Pool, settlement: sluice.Settlement): Promise<number> {
  if (!isCharged(settlement) || isPayer(settlement.accountId)) return UNITS_PER_USD
  return bookPriceOfSheet(pool, settlement.sheetVersion)
}

function isCharged({ status }: sluice.Settlement): boolean {
  return status === sluice.Status.OK || status === sluice.Status.PARTIAL
}

interface LostCharge {
  readonly settlement: sluice.Settlement
  readonly platformKeyId: string
  /** Units in one coin, by the price sheet of the request. */
  readonly coinUsdUnits: number
  readonly encoded: Uint8Array
  /** Nothing is charged while leases may give back the missing units. */
  readonly waits: boolean
  readonly isShown: boolean
}

async function charge(
  redis: Redis,
  { settlement, platformKeyId, coinUsdUnits, encoded, waits, isShown }: LostCharge,
  limits: AdmissionLimits,
): Promise<[code: number, units: number]> {
  const shard = shardOf(settlement.accountId)
  const reply = await scriptOn(redis)(
    [
      epochKey(shard),
      accountKey(shard, settlement.accountId),
      keyCountersKey(shard, settlement.keyId),
      ledgerStream(shard),
      donePrefix(shard),
    ],
    [
      settlement.requestId,
      isCharged(settlement) ? settlement.chargeUnits : -1,
      Buffer.from(encoded),
      limits.rememberResultMinutes,
      platformKeyId,
      waits ? 1 : 0,
      isShown ? 1 : 0,
      coinUsdUnits,
    ],
  )
  return reply as [number, number]
}
