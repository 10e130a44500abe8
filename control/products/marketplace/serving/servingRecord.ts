import { CallSeal, KEPT_CHANNEL, providerKeyLabel } from '../../../../contract/wire/callSeal.ts'
import type { Fields } from '../../../../contract/wire/fields.ts'
import { sluice } from '../../../../contract/wire/generated/messages.js'
import type { Redis } from '../../../../contract/wire/redis.ts'
import { SERVING_KEY } from '../../../../contract/wire/redisKeys.ts'
import { publishServingRecord } from '../../../runtime/bus/feed.ts'
import type { Queryable } from '../../../runtime/db/pool.ts'
import type { MarketplaceLimits } from '../limits.ts'
import { openAdmissions, type ProviderAdmission, trafficPpm } from './admission.ts'
import { type ServedEndpoint, servedEndpoints } from './servedEndpoints.ts'

/** Settings for the record of the providers that serve. */
export interface ServingParts {
  /** SLUICE_BUS_KEY, which seals the keys of providers for the proxies. */
  readonly busKeys: readonly Buffer[]
  /** Providers may have private addresses. */
  readonly allowPrivateProviders: boolean
}

/** Bounds the rewrites: if a concurrent change keeps racing with them, the rest is left to the next call. */
const WRITES_MAX = 3

/**
 * Writes the providers that serve by the book to Redis and notifies every proxy, if the record in Redis differs.
 * @returns whether it differed
 */
export async function syncServing(
  db: Queryable,
  redis: Redis,
  parts: ServingParts,
  limits: MarketplaceLimits,
): Promise<boolean> {
  const seal = new CallSeal(parts.busKeys, KEPT_CHANNEL)
  // Another process may have read the book before a change of this one and write after it, so both check again.
  for (let written = 0; ; written++) {
    const record = await encodeServing(db, seal, parts.allowPrivateProviders)
    const inRedis = await redis.getBuffer(SERVING_KEY)
    if ((inRedis ?? Buffer.alloc(0)).equals(record)) return written > 0
    if (written === WRITES_MAX) return true
    await publishServingRecord(redis, record, limits)
  }
}

/** The ServingRecord by the book, encoded deterministically. */
async function encodeServing(db: Queryable, seal: CallSeal, allowPrivate: boolean): Promise<Buffer> {
  const admissions = (await openAdmissions(db)).filter((admission) => trafficPpm(admission) > 0)
  const endpoints = await servedEndpoints(db, admissions)
  const routes = admissions.flatMap((admission) => {
    const endpoint = endpoints.get(admission.providerId)
    return endpoint === undefined ? [] : [routeRecord(admission, endpoint, seal, allowPrivate)]
  })
  return Buffer.from(sluice.ServingRecord.encode({ routes }).finish())
}

function routeRecord(
  admission: ProviderAdmission,
  { baseUrl, dialect, dataPolicy, apiKey }: ServedEndpoint,
  seal: CallSeal,
  allowPrivate: boolean,
): Fields<sluice.ServingRoute.$Properties> {
  const { providerId, accountId, model, upstreamModel, firstOutputMaxMs } = admission
  return {
    provider: providerId,
    accountId,
    model,
    upstreamModel,
    baseUrl,
    dialect,
    dataPolicy,
    sealedKey: apiKey === '' ? Buffer.alloc(0) : seal.sealKept(providerKeyLabel(providerId), Buffer.from(apiKey)),
    trafficPpm: trafficPpm(admission),
    firstOutputMaxMs,
    publicOnly: !allowPrivate,
  }
}
