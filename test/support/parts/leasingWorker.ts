import { join } from 'node:path'
import type { GatewayError } from '../../../contract/errors/errors.ts'
import { UNITS_PER_USD } from '../../../contract/money/units.ts'
import { sluice } from '../../../contract/wire/generated/messages.js'
import { encodeHoldMeta } from '../../../contract/wire/holdMeta.ts'
import { newId } from '../../../contract/wire/ids.ts'
import { connectRedis, type Redis } from '../../../contract/wire/redis.ts'
import { RECALL_CHANNEL, shardOf } from '../../../contract/wire/redisKeys.ts'
import { defineScript } from '../../../contract/wire/scripts.ts'
import { HoldVoider } from '../../../control/admission/holdVoider.ts'
import { noteOwner } from '../../../control/book/settlement/proxyOwners.ts'
import type { Pool } from '../../../control/runtime/db/pool.ts'
import { type Principal, toPrincipal } from '../../../proxy/access/principal.ts'
import { Heartbeat } from '../../../proxy/admission/heartbeat.ts'
import { type Holding, Holds } from '../../../proxy/admission/holds.ts'
import { journalKeys, sealingKey } from '../../../proxy/admission/journal/journalKeys.ts'
import { journalName } from '../../../proxy/admission/journal/journalName.ts'
import { keepEndings } from '../../../proxy/admission/journal/keepEndings.ts'
import { type JournalContent, readJournal } from '../../../proxy/admission/journal/readJournal.ts'
import type { EndingRecord } from '../../../proxy/admission/journal/records.ts'
import { leaseScripts } from '../../../proxy/admission/leases/leaseScripts.ts'
import { OwnLeases } from '../../../proxy/admission/leases/ownLeases.ts'
import type { RpcClient } from '../../../proxy/bus/rpcClient.ts'
import { OwnerReplay } from '../../../proxy/supervisor/ownerReplay.ts'
import { type LimitChanges, limitsWith } from '../limits.ts'
import { log } from './ledger.ts'
import { TEST_BUS_KEY } from './sealedCalls.ts'

const BUS_KEYS = [Buffer.from(TEST_BUS_KEY, 'hex')]

const LIMITS = limitsWith({ leaseDeliverMs: 5, leaseDemandMs: 20, leaseIdleMs: 40, replayPollMs: 5, settleRetryMs: 10 })
const META = { model: 'acme/chat-small', endpoint: 'chat', sheetVersion: 1, streamed: false }

/** The price sheet of a request, and what a coin is worth by it. */
export interface Priced {
  readonly sheetVersion: number
  readonly coinUsdUnits: number
}

const AT_FIRST: Priced = { sheetVersion: 1, coinUsdUnits: UNITS_PER_USD }

/** A request on a lease, as its run would have it. */
export interface LeasedRequest {
  readonly requestId: string
  readonly principal: Principal
  readonly heldUnits: number
}

/** Control as the worker asks it. */
function controlOf(pool: Pool): Pick<RpcClient, 'call'> {
  const ping = async (_operation: string, { owner = '' }: { owner?: string }) =>
    sluice.PingReply.create({ booked: await noteOwner(pool, owner) })
  return { call: ping as unknown as RpcClient['call'] }
}

/** The leases of one worker process, without its server. */
export class LeasingWorker {
  readonly owner = newId('own')
  private readonly commands: Redis
  private readonly subscriber: Redis
  private readonly own: OwnLeases
  private readonly heartbeat: Heartbeat
  private readonly pool: Pool
  private readonly folder: string
  private readonly holds: Holds
  private readonly principals = new Map<string, Principal>()

  private constructor(redisUrl: string, pool: Pool, folder: string, changes: LimitChanges) {
    const limits = { ...LIMITS, ...changes }
    this.pool = pool
    this.folder = folder
    this.commands = connectRedis(redisUrl, { failAfterMs: 15_000 })
    this.subscriber = connectRedis(redisUrl, 'wait')
    for (const redis of [this.commands, this.subscriber]) redis.on('error', () => {})
    this.own = new OwnLeases({
      config: {
        journalFolder: join(folder, 'disk'),
        journalMemoryFolder: join(folder, 'memory'),
        journalSync: false,
        busKeys: BUS_KEYS,
      },
      owner: this.owner,
      commands: this.commands,
      subscriber: this.subscriber,
      rpc: controlOf(pool),
      limits,
      connected: () => this.commands.status === 'ready',
      serverChanges: () => 0,
      strays: { end: () => {}, size: 0 },
      onFault: () => {},
      onJournalFault: () => {},
    })
    this.holds = new Holds({
      script: defineScript(this.commands, 'hold'),
      schedule: setImmediate,
      owner: this.owner,
      limits,
      connected: () => this.commands.status === 'ready',
      perShard: false,
      recall: (accountId) => void this.commands.publish(RECALL_CHANNEL, accountId).catch(() => {}),
      onFault: () => {},
    })
    const beat = defineScript(this.commands, 'heartbeat')
    this.heartbeat = new Heartbeat(beat, this.commands, this.owner, 200, this.own.leases.heard)
  }

  static async start(redisUrl: string, pool: Pool, folder: string, changes: LimitChanges = {}): Promise<LeasingWorker> {
    const worker = new LeasingWorker(redisUrl, pool, folder, changes)
    await new Promise((resolve) => worker.commands.once('ready', resolve))
    await worker.heartbeat.start()
    await noteOwner(pool, worker.owner)
    await worker.own.start()
    return worker
  }

  /** Holds for a request that was priced by this sheet. @returns the refusal where there is none */
  take(accountId: string, keyId: string, units: number, priced = AT_FIRST): Promise<LeasedRequest | GatewayError> {
    return this.takeFrom(this.own.leases, accountId, keyId, units, priced)
  }

  /** As `take`, with a hold that Redis keeps by itself. */
  takeSingly(
    accountId: string,
    keyId: string,
    units: number,
    priced = AT_FIRST,
  ): Promise<LeasedRequest | GatewayError> {
    return this.takeFrom(this.own.leases.singly(this.holds), accountId, keyId, units, priced)
  }

  /** Of its leases that rest. */
  get resting(): number {
    return this.own.leases.counts.resting
  }

  /** The key of this request has changed, as the feed says it. */
  keyChanged({ principal }: LeasedRequest): void {
    this.own.leases.keyChanged(principal)
  }

  /** The least number of endings that it will have had, as its pulse says it. */
  get begun(): number {
    return this.own.leases.begun
  }

  /** Endings that Redis does not have. */
  get undelivered(): number {
    return this.own.leases.undelivered
  }

  private takeFrom(
    source: Holding,
    accountId: string,
    keyId: string,
    units: number,
    { sheetVersion, coinUsdUnits }: Priced,
  ): Promise<LeasedRequest | GatewayError> {
    const requestId = newId('req')
    const principal = this.principalOf(accountId, keyId)
    return new Promise((resolve, reject) => {
      source.take({
        requestId,
        principal,
        wantUnits: units,
        leastUnits: units,
        holdMeta: encodeHoldMeta({ ...META, sheetVersion }),
        coinUsdUnits,
        onHeld: (held) => resolve({ requestId, principal, heldUnits: held.units }),
        onHoldRefused: resolve,
        onCrashed: reject,
      })
    })
  }

  /** The same for all requests of a key, as long as the key does not change. */
  private principalOf(accountId: string, keyId: string): Principal {
    const name = `${accountId}/${keyId}`
    const record = { keyId, accountId, shard: shardOf(accountId), privacyKnown: true, settingsKnown: true }
    const principal = this.principals.get(name) ?? toPrincipal(sluice.KeyRecord.create(record), LIMITS)
    this.principals.set(name, principal)
    return principal
  }

  /** Ends a request. Resolves once its receipt may be shown. @param chargeUnits -1 voids it */
  end({ requestId, principal, heldUnits }: LeasedRequest, chargeUnits: number): Promise<void> {
    const { accountId, keyId, shard } = principal
    const settlement = sluice.Settlement.encode({
      ...META,
      requestId,
      accountId,
      keyId,
      provider: 'mock',
      status: chargeUnits < 0 ? sluice.Status.FAILED : sluice.Status.OK,
      holdUnits: heldUnits,
      chargeUnits: Math.max(0, chargeUnits),
      startedAtMs: Date.now(),
    }).finish()
    const ending = { requestId, owner: this.owner, accountId, keyId, shard, chargeUnits }
    return new Promise((resolve, reject) => {
      this.own.leases.end({ ...ending, settlement: Buffer.from(settlement).toString('latin1') }, principal.keys, {
        onSettled: () => resolve(),
        onSettleDelayed: () => reject(new Error('the journal could not be written')),
        onCrashed: reject,
      })
    })
  }

  /** Breaks its connection; resolves once it is back. */
  async breakConnection(): Promise<void> {
    const isBack = new Promise((resolve) => this.commands.once('ready', resolve))
    this.commands.disconnect(true)
    await isBack
  }

  get isConnected(): boolean {
    return this.commands.status === 'ready'
  }

  /** Nothing it does from now on gets to Redis. */
  cutOff(): void {
    this.commands.disconnect()
  }

  /** As kill -9. */
  async kill(): Promise<void> {
    this.commands.disconnect()
    this.subscriber.disconnect()
    await this.own.stop(0)
    await this.heartbeat.stop().catch(() => undefined)
  }

  /** Gives everything back. */
  async stop(): Promise<boolean> {
    const isDone = await this.own.stop(10_000)
    await this.heartbeat.stop()
    this.commands.disconnect()
    this.subscriber.disconnect()
    return isDone
  }

  /**
   * What its supervisor does after its death.
   * @param written of what its journal has, what was really written
   */
  async replay(redis: Redis, written = (content: JournalContent): JournalContent => content): Promise<void> {
    const name = journalName(this.owner, process.pid)
    const folders = [join(this.folder, 'memory', name), join(this.folder, 'disk', name)]
    const content = await readJournal(folders, journalKeys(BUS_KEYS, this.owner))
    const scripts = leaseScripts(redis)
    const closeOwner = defineScript(redis, 'closeOwner')
    const booked = async () =>
      new Map((await noteOwner(this.pool, this.owner)).map(({ shard, seq }) => [shard ?? 0, seq ?? 0]))
    const { signal } = new AbortController()
    const voider = new HoldVoider({ redis, log, limits: LIMITS })
    const voidHolds = () => voider.voidOwner(this.owner)
    const keep = (endings: readonly EndingRecord[]) => keepEndings(folders, endings, sealingKey(BUS_KEYS, this.owner))
    const options = { owner: this.owner, redis, scripts, closeOwner, limits: LIMITS, booked, voidHolds, keep, signal }
    await new OwnerReplay(options).run(written(content))
  }
}
