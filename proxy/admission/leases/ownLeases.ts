import { rmdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { Redis } from '../../../contract/wire/redis.ts'
import {
  ASK_CHANNEL,
  askedKey,
  deniedKey,
  RECALL_CHANNEL,
  REPORT_CHANNEL,
  REPORTED_KEY,
  REST_CHANNEL,
} from '../../../contract/wire/redisKeys.ts'
import type { RpcClient } from '../../bus/rpcClient.ts'
import type { ProxyConfig } from '../../config.ts'
import type { Settling } from '../ending.ts'
import { Journal } from '../journal/journal.ts'
import { makeJournalFolder } from '../journal/journalFolders.ts'
import { sealingKey } from '../journal/journalKeys.ts'
import { journalName } from '../journal/journalName.ts'
import { noteProcessSpace } from '../journal/processSpace.ts'
import { readJournal } from '../journal/readJournal.ts'
import type { AdmissionLimits } from '../limits.ts'
import type { StrayHolds } from '../strayHolds.ts'
import { askBooked } from './askBooked.ts'
import type { LeasedEnding } from './batch.ts'
import { leasedEnding } from './leasedEnding.ts'
import { leaseScripts } from './leaseScripts.ts'
import { Leases } from './leases.ts'

export interface OwnLeasesOptions {
  readonly config: Pick<ProxyConfig, 'journalFolder' | 'journalMemoryFolder' | 'journalSync' | 'busKeys'>
  readonly owner: string
  readonly commands: Redis
  readonly subscriber: Redis
  readonly rpc: Pick<RpcClient, 'call'>
  readonly limits: AdmissionLimits
  /** A call can reach Redis now, and control has loaded its state. */
  readonly connected: () => boolean
  readonly serverChanges: () => number
  readonly strays: Settling & Pick<StrayHolds, 'size'>
  readonly onFault: (error: unknown) => void
  /** The journal could not be written. */
  readonly onJournalFault: (error: unknown) => void
}

/** The leases of this process with their journal, as the rest of the installation reaches them. */
export class OwnLeases {
  readonly leases: Leases
  readonly journal: Journal
  private readonly options: OwnLeasesOptions
  private readonly diskFolder: string
  /** A loading that is reported to now. */
  private reporting: string | undefined
  /** A question to control that has no answer yet. */
  private asking: Promise<ReadonlyMap<number, number>> | undefined

  constructor(options: OwnLeasesOptions) {
    const { config, owner, commands, limits, connected, serverChanges, strays, onFault, onJournalFault } = options
    this.options = options
    const name = journalName(owner, process.pid)
    const diskFolder = join(config.journalFolder, name)
    this.diskFolder = diskFolder
    const memoryFolder = config.journalMemoryFolder === null ? null : join(config.journalMemoryFolder, name)
    const key = sealingKey(config.busKeys, owner)
    const { journalSync: sync } = config
    this.journal = new Journal({ memoryFolder, diskFolder, key, sync, limits, onFault: onJournalFault })
    const folders = memoryFolder === null ? [diskFolder] : [memoryFolder, diskFolder]
    this.leases = new Leases({
      owner,
      scripts: leaseScripts(commands),
      limits,
      journal: this.journal,
      connected,
      serverChanges,
      booked: () => this.booked(),
      journaled: (shard, afterSeq, lastSeq) => journaled(folders, [key], shard, afterSeq, lastSeq),
      publishRecall: (accountId) => commands.publish(RECALL_CHANNEL, accountId).catch(onFault),
      strays,
      onFault,
    })
  }

  private async makeFolder(): Promise<void> {
    await makeJournalFolder(this.diskFolder)
    await noteProcessSpace(this.diskFolder)
  }

  /** Listens to recalls, to questions for requests, and to loadings of the admission state. */
  async start(): Promise<void> {
    const { subscriber, commands, onJournalFault } = this.options
    // The folder shows the next process whose holds are left, even when nothing was written.
    await this.makeFolder().catch(onJournalFault)
    subscriber.on('messageBuffer', (channel: Buffer, message: Buffer) => this.heard(String(channel), String(message)))
    await subscriber.subscribe(RECALL_CHANNEL, REST_CHANNEL, ASK_CHANNEL, REPORT_CHANNEL)
    // Messages may have been missed while a connection was down.
    for (const connection of [subscriber, commands]) connection.on('ready', () => this.leases.endAllRests())
  }

  /** Gives all leases back and ends the journal. @returns whether Redis has everything */
  async stop(timeoutMs: number): Promise<boolean> {
    const isDone = await this.leases.stop(timeoutMs)
    await this.journal.stop()
    // rmdir fails while the folder has files; those are left for the replay.
    if (isDone && this.options.strays.size === 0) await rmdir(this.diskFolder).catch(() => undefined)
    return isDone
  }

  private heard(channel: string, message: string): void {
    if (channel === RECALL_CHANNEL) this.leases.recalled(message)
    else if (channel === REST_CHANNEL) this.leases.endRests(message)
    else if (channel === ASK_CHANNEL) this.answer(message)
    else if (channel === REPORT_CHANNEL) this.reportTo(message).catch(this.options.onFault)
  }

  private answer(requestId: string): void {
    const state = this.leases.asked(requestId)
    if (state === undefined) return
    const { commands, limits, onFault, owner } = this.options
    const key = state === 'unknown' ? deniedKey(requestId, owner) : askedKey(requestId)
    commands.set(key, state, 'PX', limits.askedMs).catch(onFault)
  }

  /** Control repeats the question until it is answered. */
  private async reportTo(load: string): Promise<void> {
    if (this.reporting === load) return
    this.reporting = load
    try {
      await this.leases.reportTo(load)
      await this.options.commands.hset(REPORTED_KEY, this.options.owner, load)
    } finally {
      this.reporting = undefined
    }
  }

  /** All shards that ask concurrently share one answer. */
  private booked(): Promise<ReadonlyMap<number, number>> {
    this.asking ??= askBooked(this.options.rpc, this.options.owner, false).finally(() => {
      this.asking = undefined
    })
    return this.asking
  }
}

async function journaled(
  folders: readonly string[],
  keys: readonly Buffer[],
  shard: number,
  afterSeq: number,
  lastSeq: number,
): Promise<LeasedEnding[]> {
  const { endings } = await readJournal(folders, keys)
  const own = endings.get(shard) ?? []
  return own.filter(({ seq }) => seq > afterSeq && seq <= lastSeq).map(leasedEnding)
}
