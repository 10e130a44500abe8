import type { Redis } from '../../contract/wire/redis.ts'

/**
 * The time by the clock of Redis, which all parts share, in milliseconds since 1970.
 * @throws Error when Redis cannot be asked
 */
export async function redisNowMs(redis: Pick<Redis, 'time'>): Promise<number> {
  const [seconds, micros] = await redis.time()
  return Number(seconds) * 1_000 + Math.floor(Number(micros) / 1_000)
}
