import type { ChainableCommander, Cluster, Command, Redis as SingleRedis } from 'ioredis'
import { clusterOf, type Redis } from './redis.ts'

const SLOTS = 16_384
/** The most scans of all keys while slots move between the nodes. */
const SCANS_MAX = 20

/**
 * Commands that are sent in one write and answered together: in a cluster, one write for each node, where each command is
 * redirected on its own, so that neither the shards of their keys nor moving slots matter.
 */
export function pipelineOf(redis: Redis): ChainableCommander {
  const cluster = clusterOf(redis)
  if (cluster === undefined) return (redis as SingleRedis).pipeline()
  const pipeline = cluster.pipeline()
  const commands: Command[] = []
  return Object.assign(pipeline, {
    sendCommand(command: Command): unknown {
      commands.push(command)
      return pipeline
    },
    exec: () => sendAll(cluster, commands),
  })
}

function sendAll(cluster: Cluster, commands: readonly Command[]): Promise<[Error | null, unknown][]> {
  const streams = cluster.nodes('master').flatMap((node) => (node.status === 'ready' ? [node.stream] : []))
  for (const stream of streams) stream.cork()
  const answers = commands.map(async (command): Promise<[Error | null, unknown]> => {
    try {
      return [null, await cluster.sendCommand(command)]
    } catch (error) {
      return [error instanceof Error ? error : new Error(String(error)), undefined]
    }
  })
  for (const stream of streams) stream.uncork()
  return Promise.all(answers)
}

/**
 * Scans all keys in small steps: every key that exists during the whole scan is returned at least once, also while slots
 * move between the nodes of a cluster.
 * @param count the approximate number of keys in a step
 * @throws Error when the nodes of a cluster do not cover all slots, or their slots keep moving
 */
export async function* scanKeys(
  redis: Redis,
  { match = '*', count }: { match?: string; count: number },
): AsyncGenerator<string[]> {
  const cluster = clusterOf(redis)
  if (cluster === undefined) {
    yield* scanServer(redis as SingleRedis, match, count)
    return
  }
  for (let round = 0; round < SCANS_MAX; round++) {
    const before = await layoutOf(cluster)
    for (const node of before.nodes) yield* scanServer(node, match, count)
    const after = await layoutOf(cluster)
    // A key that moved meanwhile may have been on either node when the other one was scanned.
    if (!before.moving && before.text === after.text) return
  }
  throw new Error('the slots of the Redis Cluster do not come to rest')
}

async function* scanServer(redis: SingleRedis, match: string, count: number): AsyncGenerator<string[]> {
  let cursor = '0'
  do {
    const [next, keys] = await redis.scan(cursor, 'MATCH', match, 'COUNT', count)
    if (keys.length > 0) yield keys
    cursor = next
  } while (cursor !== '0')
}

interface Layout {
  /** The masters that have slots. */
  readonly nodes: readonly SingleRedis[]
  /** Which of them has which slots. */
  readonly text: string
  /** A slot is between two nodes. */
  readonly moving: boolean
}

/** Asks every master for the slots that it has itself; https://redis.io/docs/latest/commands/cluster-nodes/ */
async function layoutOf(cluster: Cluster): Promise<Layout> {
  // Once this is answered, the nodes are known.
  await cluster.ping()
  const nodes = cluster.nodes('master')
  const lines = await Promise.all(nodes.map(ownLine))
  const found = new Set<number>()
  for (const { ranges } of lines) {
    for (const range of ranges) {
      const [from, to = from] = range.split('-').map(Number)
      for (let slot = from ?? SLOTS; slot <= Number(to); slot++) found.add(slot)
    }
  }
  if (found.size !== SLOTS) throw new Error('the Redis Cluster does not have all of its slots now')
  return {
    nodes: nodes.filter((_, i) => lines[i]?.ranges.length !== 0),
    text: lines
      .map(({ text }) => text)
      .sort()
      .join('\n'),
    moving: lines.some(({ moving }) => moving),
  }
}

async function ownLine(node: SingleRedis): Promise<{ text: string; ranges: string[]; moving: boolean }> {
  const all = String(await node.cluster('NODES'))
  const fields =
    all
      .split('\n')
      .find((line) => /\bmyself\b/.test(line))
      ?.split(' ') ?? []
  const isMaster = /\bmaster\b/.test(fields[2] ?? '')
  const slots = isMaster ? fields.slice(8) : []
  const ranges = slots.filter((slot) => !slot.startsWith('['))
  return { text: `${fields[0]} ${slots.join(' ')}`, ranges, moving: slots.length > ranges.length }
}

/** The number of subscribers of a pub/sub channel; in a cluster, each is connected to any one of the nodes. */
export async function subscribersOf(redis: Redis, channel: string): Promise<number> {
  const nodes = clusterOf(redis)?.nodes() ?? [redis as SingleRedis]
  const answers = await Promise.all(nodes.map((node) => node.pubsub('NUMSUB', channel)))
  return answers.reduce((sum, answer) => sum + Number((answer as unknown[])[1]), 0)
}

/**
 * Calls `listener` whenever another server may have taken over: a connection was restored, or slots were read again.
 * @returns a function that ends it
 */
export function onServersChange(redis: Redis, listener: () => void): () => void {
  const events = clusterOf(redis) === undefined ? ['ready'] : ['ready', 'refresh']
  for (const event of events) redis.on(event, listener)
  return () => {
    for (const event of events) redis.off(event, listener)
  }
}
