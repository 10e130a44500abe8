import { clusterOf, type Redis } from '../../contract/wire/redis.ts'

const MAJOR_MIN = 7

/**
 * @throws Error when the server is older than Redis 7, whose scripts and streams the gateway needs, or its kind differs from
 *   that of its address
 */
export async function requireRedisVersion(redis: Redis): Promise<void> {
  const info = await redis.info('server')
  const mode = /^redis_mode:(\w+)/m.exec(info)?.[1]
  if (mode === 'sentinel') throw new Error('REDIS_URL leads to a Sentinel; write redis+sentinel://host:port/master')
  if (mode === 'cluster' && clusterOf(redis) === undefined) {
    throw new Error('REDIS_URL leads to a node of a Redis Cluster; write redis+cluster://host:port')
  }
  // Valkey states under this name the Redis version that it is compatible with.
  const version = /^redis_version:(\d+)\.[\d.]+/m.exec(info)
  if (version !== null && Number(version[1]) >= MAJOR_MIN) return
  throw new Error(
    `Redis ${MAJOR_MIN} or newer (or Valkey) is needed; REDIS_URL leads to ${version?.[0] ?? 'another server'}`,
  )
}
