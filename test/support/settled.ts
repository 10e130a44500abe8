import { connectRedis, type Redis } from '../../contract/wire/redis.ts'
import { epochKey, ledgerStream, SHARD_COUNT } from '../../contract/wire/redisKeys.ts'
import { pipelineOf } from '../../contract/wire/redisShards.ts'
import { heldIn } from './heldIn.ts'
import { until } from './until.ts'

/** Calls `work` with a connection of the gateway's own kind, to a Redis of any kind. */
export async function withRedisAt<T>(url: string, work: (redis: Redis) => Promise<T>): Promise<T> {
  const redis = connectRedis(url, 'wait')
  redis.on('error', () => {})
  try {
    return await work(redis)
  } finally {
    redis.disconnect()
  }
}

/** Waits until admission is open, no hold is, no lease is out and every ended request is in the book. */
export function untilSettled(redisUrl: string, timeoutMs: number): Promise<void> {
  let left: readonly string[] = []
  return withRedisAt(redisUrl, (redis) =>
    until(
      () => `admission is open, no hold is, no lease is out and the ledger streams are empty; held: ${left.join(' ')}`,
      async () => {
        // Holds first: a hold that ends between the two looks is in a stream at the second.
        left = await heldIn(redis)
        if (left.length > 0) return false
        const [lengths, epochs] = [pipelineOf(redis), pipelineOf(redis)]
        for (let shard = 0; shard < SHARD_COUNT; shard++) {
          lengths.xlen(ledgerStream(shard))
          epochs.exists(epochKey(shard))
        }
        return isAll(await lengths.exec(), 0) && isAll(await epochs.exec(), 1)
      },
      timeoutMs,
    ),
  )
}

function isAll(answers: readonly [error: Error | null, answer: unknown][] | null, expected: number): boolean {
  return answers?.every(([error, answer]) => error === null && answer === expected) === true
}
