import { bySpan, LIFE_FIELD, type Span, WINDOW } from '../../../contract/money/windows.ts'
import { sluice } from '../../../contract/wire/generated/messages.js'
import { newId } from '../../../contract/wire/ids.ts'
import type { Redis } from '../../../contract/wire/redis.ts'
import { accountKey, epochKey, keyCountersKey, SHARD_COUNT, shardOf } from '../../../contract/wire/redisKeys.ts'
import { keyOf } from './leaseOwner.ts'

/** A grant of an account in Redis. */
export interface Grant {
  readonly id: string
  readonly units: number
  readonly expiresAtMs?: number
}

/** What Redis has of an account. */
export interface AccountState {
  readonly coin: number
  readonly grants: Record<string, number>
  readonly out: number
}

/** What the counters of a key say, in the windows that they were last counted in. */
export type Spent = Readonly<Record<Span, number>>

const IN_A_DAY_MS = 86_400_000

/** Opens all shards without a book. @returns the epoch */
export async function openShards(redis: Redis, epoch = newId('evt')): Promise<string> {
  await Promise.all(Array.from({ length: SHARD_COUNT }, (_, shard) => redis.set(epochKey(shard), epoch)))
  return epoch
}

/** Closes all shards. */
export async function closeShards(redis: Redis): Promise<void> {
  await redis.del(...Array.from({ length: SHARD_COUNT }, (_, shard) => epochKey(shard)))
}

/** An account that no book knows. @param shard where it has to lie; any when absent. @returns its id */
export async function plainAccount(
  redis: Redis,
  { coin = 0, grants = [], shard }: { coin?: number; grants?: readonly Grant[]; shard?: number },
): Promise<string> {
  let accountId = newId('acct')
  while (shard !== undefined && shardOf(accountId) !== shard) accountId = newId('acct')
  const list = grants.map(({ id, units, expiresAtMs = Date.now() + IN_A_DAY_MS }) => `${id},${expiresAtMs},${units}`)
  await redis.hset(accountKey(shardOf(accountId), accountId), { coin, g: list.join(';'), seq: 1 })
  return accountId
}

export async function accountState(redis: Redis, accountId: string): Promise<AccountState> {
  const [coin, g, out] = await redis.hmget(accountKey(shardOf(accountId), accountId), 'coin', 'g', 'out')
  const grants: Record<string, number> = {}
  for (const grant of (g ?? '').split(';').filter((text) => text !== '')) {
    const [id = '', , units] = grant.split(',')
    grants[id] = Number(units)
  }
  return { coin: Number(coin), grants, out: Number(out ?? 0) }
}

/** Units that the counters of a key have. @param accountId whose shard it is in */
export async function spentBy(redis: Redis, accountId: string, keyId = keyOf(accountId)): Promise<Spent> {
  const counters = await redis.hgetall(keyCountersKey(shardOf(accountId), keyId))
  return bySpan((span) => Number(counters[span === 'life' ? LIFE_FIELD : WINDOW[span].spentField] ?? 0))
}

/** The same units in every window. */
export const everywhere = (units: number): Spent => bySpan(() => units)

/** The ending of a request that was charged `units`. */
export function endingOf(accountId: string, units: number, split = units > 0 ? `coin=${units}` : ''): sluice.IEnded {
  return {
    settlement: {
      requestId: newId('req'),
      accountId,
      keyId: keyOf(accountId),
      model: 'acme/chat-small',
      endpoint: 'chat',
      provider: 'acme',
      sheetVersion: 1,
      status: sluice.Status.OK,
      holdUnits: units,
      chargeUnits: units,
      usage: { input: 10, output: 5 },
      usageSource: sluice.UsageSource.REPORTED,
      startedAtMs: Date.now(),
      durationMs: 12,
    },
    heldAtMs: Date.now(),
    split,
  }
}
