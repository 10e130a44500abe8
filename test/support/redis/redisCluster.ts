import { Redis } from 'ioredis'
import { freePort } from '../../../control/launch/process/freePort.ts'
import { itemOf } from '../present.ts'
import type { TestServer } from '../services.ts'
import { until } from '../until.ts'
import { newRedisProcess, type RedisProcess } from './redisProcess.ts'

const SLOTS = 16_384
const NODE_TIMEOUT_MS = 1_000
const KEYS_AT_ONCE = 20
const MIGRATE_TIMEOUT_MS = 5_000

/** One node: its process, and a connection for the commands of an operator. */
export interface ClusterNode {
  readonly process: RedisProcess
  readonly admin: Redis
  readonly id: string
}

/** A Redis Cluster of the test's own, of which nodes may be killed and slots moved. */
export class TestCluster implements TestServer {
  readonly url: string
  readonly nodes: readonly ClusterNode[]

  constructor(nodes: readonly ClusterNode[]) {
    this.nodes = nodes
    this.url = `redis+cluster://${nodes.map((node) => `127.0.0.1:${node.process.port}`).join(',')}`
  }

  /** Of the first node. */
  get dir(): string {
    return itemOf(this.nodes, 0).process.dir
  }

  pid(): number | undefined {
    return itemOf(this.nodes, 0).process.pid
  }

  async kill9(): Promise<void> {
    await Promise.all(this.nodes.map((node) => node.process.kill9()))
  }

  async restart(): Promise<void> {
    await Promise.all(this.nodes.map((node) => node.process.start()))
    await this.untilWell()
  }

  async stop(): Promise<void> {
    for (const { admin } of this.nodes) admin.disconnect()
    await Promise.all(this.nodes.map((node) => node.process.stop()))
  }

  /** The nodes that are masters with slots now, by their own account. */
  async masters(): Promise<ClusterNode[]> {
    const owned = await this.owned()
    return this.nodes.filter((_, i) => owned[i]?.length !== 0)
  }

  async slotOf(key: string): Promise<number> {
    return Number(await itemOf(this.nodes, 0).admin.call('CLUSTER', 'KEYSLOT', key))
  }

  /** Who has a slot. */
  async ownerOf(slot: number): Promise<ClusterNode> {
    const owner = await this.ownerIfAny(slot)
    if (owner === undefined) throw new Error(`no node has slot ${slot}`)
    return owner
  }

  /** Kills a master and waits until its replica has taken its place. */
  async failOver(master: ClusterNode): Promise<void> {
    const [first = 0] = itemOf(await ownSlots(master), 0)
    await master.process.kill9()
    // Until a node is taken for failed, its slots count as served.
    await until('a replica has its slots', async () => (await this.ownerIfAny(first)) !== undefined)
    await this.untilWell()
  }

  /** Brings a killed node back, as a replica of whoever took its place. */
  async bringBack(node: ClusterNode): Promise<void> {
    await node.process.start()
    await until('the node is a replica again', async () => /master_link_status:up/.test(await info(node)))
  }

  /**
   * Moves a slot with its keys, as redis-cli does.
   * @param onHalf called when some of its keys are here and some there
   * @param first the keys that are there by then, any one when absent
   */
  async moveSlot(
    slot: number,
    to: ClusterNode,
    onHalf: () => Promise<void> = async () => {},
    first?: readonly string[],
  ): Promise<void> {
    const from = await this.ownerOf(slot)
    if (from === to) return
    await to.admin.call('CLUSTER', 'SETSLOT', slot, 'IMPORTING', from.id)
    await from.admin.call('CLUSTER', 'SETSLOT', slot, 'MIGRATING', to.id)
    for (let isFirst = true; ; isFirst = false) {
      const some = (await from.admin.call('CLUSTER', 'GETKEYSINSLOT', slot, isFirst ? 1 : KEYS_AT_ONCE)) as string[]
      if (some.length === 0) break
      const keys = isFirst ? (first ?? some) : some
      const place = ['127.0.0.1', to.process.port, '', 0, MIGRATE_TIMEOUT_MS]
      await from.admin.call('MIGRATE', ...place, 'KEYS', ...keys).catch(async (error: Error) => {
        throw new Error(`${error.message}; the new owner has ${await keysAt(to, keys)} of ${keys}`)
      })
      if (isFirst) await onHalf()
    }
    // The new owner first, so that nobody owns a slot that it does not know to be its own.
    for (const node of [to, from]) await node.admin.call('CLUSTER', 'SETSLOT', slot, 'NODE', to.id)
  }

  /** The slots of each node by its own account; none of one that does not answer. */
  private owned(): Promise<[number, number][][]> {
    return Promise.all(this.nodes.map((node) => ownSlots(node).catch(() => [])))
  }

  private async ownerIfAny(slot: number): Promise<ClusterNode | undefined> {
    const owned = await this.owned()
    return this.nodes.find((_, i) => owned[i]?.some(([from, to]) => from <= slot && slot <= to))
  }

  /** Waits until every living node sees all slots served. */
  async untilWell(): Promise<void> {
    await until('the cluster is well', async () => {
      const living = this.nodes.filter(({ process }) => process.pid !== undefined)
      const states = await Promise.all(living.map(({ admin }) => admin.call('CLUSTER', 'INFO').catch(() => '')))
      return states.every((state) => /cluster_state:ok/.test(String(state)))
    })
  }
}

/** Starts a cluster of so many masters, each with a replica, and waits until it serves. */
export async function startTestCluster({
  masters = 3,
  replicas = 1,
  nodeTimeoutMs = NODE_TIMEOUT_MS,
} = {}): Promise<TestCluster> {
  const nodes = await Promise.all(Array.from({ length: masters * (1 + replicas) }, () => startNode(nodeTimeoutMs)))
  const cluster = new TestCluster(nodes)
  const first = itemOf(nodes, 0)
  for (let i = 0; i < masters; i++) {
    const from = Math.floor((SLOTS * i) / masters)
    const to = Math.floor((SLOTS * (i + 1)) / masters) - 1
    await itemOf(nodes, i).admin.call('CLUSTER', 'ADDSLOTSRANGE', from, to)
    await itemOf(nodes, i).admin.call('CLUSTER', 'SET-CONFIG-EPOCH', i + 1)
  }
  for (const { admin } of nodes.slice(1)) {
    await admin.call('CLUSTER', 'MEET', '127.0.0.1', first.process.port, await busPort(first))
  }
  await until('all nodes know each other', async () => {
    const known = await Promise.all(nodes.map(async ({ admin }) => String(await admin.call('CLUSTER', 'NODES'))))
    return known.every((text) => text.trim().split('\n').length === nodes.length && !/handshake/.test(text))
  })
  for (const [i, { admin }] of nodes.entries()) {
    if (i >= masters) await admin.call('CLUSTER', 'REPLICATE', itemOf(nodes, i % masters).id)
  }
  await until('the replicas are in step', async () => {
    const texts = await Promise.all(nodes.slice(masters).map(info))
    return texts.every((text) => /master_link_status:up/.test(text))
  })
  await cluster.untilWell()
  return cluster
}

async function startNode(nodeTimeoutMs: number): Promise<ClusterNode> {
  const [port, clusterPort] = [await freePort(), await freePort()]
  const process = newRedisProcess({
    port,
    settings: {
      port,
      'cluster-port': clusterPort,
      'cluster-enabled': 'yes',
      'cluster-announce-ip': '127.0.0.1',
      'cluster-node-timeout': nodeTimeoutMs,
      'cluster-allow-replica-migration': 'no',
      'repl-diskless-sync-delay': 0,
      appendonly: 'yes',
      save: '',
    },
  })
  await process.start()
  const admin = new Redis(port, '127.0.0.1', { protocol: 2, maxRetriesPerRequest: 0, retryStrategy: () => 50 })
  admin.on('error', () => {})
  const id = String(await admin.call('CLUSTER', 'MYID'))
  return { process, admin, id }
}

/** Those of keys that a node has of a slot that is not its own yet. */
async function keysAt({ admin }: ClusterNode, keys: readonly string[]): Promise<string[]> {
  const found: string[] = []
  for (const key of keys) {
    const [, exists] = await Promise.all([admin.call('ASKING'), admin.call('EXISTS', key)])
    if (exists === 1) found.push(key)
  }
  return found
}

async function info({ admin }: ClusterNode): Promise<string> {
  return admin.info('replication').catch(() => '')
}

async function busPort(node: ClusterNode): Promise<number> {
  const text = String(await node.admin.call('CLUSTER', 'NODES'))
  return Number(/@(\d+)/.exec(text)?.[1])
}

async function ownSlots({ admin }: ClusterNode): Promise<[number, number][]> {
  const text = String(await admin.call('CLUSTER', 'NODES'))
  const fields =
    text
      .split('\n')
      .find((line) => /\bmyself,master\b/.test(line))
      ?.split(' ') ?? []
  const ranges = fields.slice(8).filter((slot) => !slot.startsWith('['))
  return ranges.map((range) => {
    const [from = '', to = from] = range.split('-')
    return [Number(from), Number(to)]
  })
}
