import { clusterOf, type Redis } from './redis.ts'
import { epochKey, SHARD_COUNT } from './redisKeys.ts'
import { defineScript } from './scripts.ts'

const BY_NAME = /^\w+\/\w+$/

/**
 * The servers that own the shards now, as the book remembers them. They are asked through the keys themselves, so that the
 * answer comes from the server that takes the writes. A server has another name after every start, and whenever it was made
 * the master of another one's data, which may lack the last writes that the old master accepted.
 * @throws Error when one of them does not answer
 */
export async function serversOf(redis: Redis): Promise<string> {
  const script = defineScript(redis, 'serverOf')
  // Without a cluster, one server has all shards.
  const shards = clusterOf(redis) === undefined ? [0] : Array.from({ length: SHARD_COUNT }, (_, shard) => shard)
  const names = await Promise.all(shards.map((shard) => script([epochKey(shard)], [])))
  const servers = [...new Set(names.map(String))].sort()
  if (!servers.every((server) => BY_NAME.test(server))) throw new Error('Redis does not tell its run_id')
  return servers.join(',')
}

/**
 * Whether the shards are where they were, with all that was written to them: slots that move between servers known before
 * lose nothing, also when they leave one of them without any.
 * @param known as `serversOf` returned it when the state was loaded
 */
export function areKnown(servers: string, known: string): boolean {
  const names = new Set(known.split(','))
  return servers.split(',').every((server) => names.has(server))
}
