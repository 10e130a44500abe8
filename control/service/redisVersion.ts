import type { Redis } from 'ioredis'

const MAJOR_MIN = 7

/** @throws Error when the server is older than Redis 7, whose scripts and streams the gateway needs */
export async function requireRedisVersion(redis: Redis): Promise<void> {
  const info = await redis.info('server')
  // Valkey states under this name the Redis version that it is compatible with.
  const version = /^redis_version:(\d+)\.[\d.]+/m.exec(info)
  if (version !== null && Number(version[1]) >= MAJOR_MIN) return
  throw new Error(
    `Redis ${MAJOR_MIN} or newer (or Valkey) is needed; REDIS_URL leads to ${version?.[0] ?? 'another server'}`,
  )
}
