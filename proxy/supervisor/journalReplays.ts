import { readdir, rename, rm, rmdir } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'
import { WakeableSleep } from '../../contract/std/wakeableSleep.ts'
import type { Redis } from '../../contract/wire/redis.ts'
import { OWNERS_KEY } from '../../contract/wire/redisKeys.ts'
import { defineScript } from '../../contract/wire/scripts.ts'
import { journalKeys, sealingKey } from '../admission/journal/journalKeys.ts'
import { journalName, parseJournalName, unreadName } from '../admission/journal/journalName.ts'
import { keepEndings } from '../admission/journal/keepEndings.ts'
import { assertOwnFolder } from '../admission/journal/ownFolder.ts'
import { seesProcessOf } from '../admission/journal/processSpace.ts'
import { isMissing, readJournal } from '../admission/journal/readJournal.ts'
import type { EndingRecord } from '../admission/journal/records.ts'
import { askBooked } from '../admission/leases/askBooked.ts'
import { leaseScripts } from '../admission/leases/leaseScripts.ts'
import { processLives } from '../admission/processLives.ts'
import type { RpcClient } from '../bus/rpcClient.ts'
import type { ProxyConfig } from '../config.ts'
import { logEvent } from '../logEvents.ts'
import type { SupervisorLimits } from './limits.ts'
import { OwnerReplay } from './ownerReplay.ts'

export interface JournalReplaysOptions {
  readonly config: Pick<ProxyConfig, 'journalFolder' | 'journalMemoryFolder' | 'busKeys'>
  readonly redis: Redis
  readonly rpc: Pick<RpcClient, 'call'>
  readonly limits: SupervisorLimits
  readonly log: Logger
  /** The processes that this one keeps, by their owner's name. */
  readonly living: () => ReadonlySet<string>
}

/** A folder of an owner's journal, and the process that its name has. */
interface FoundFolder {
  readonly path: string
  readonly pid: number
}

/**
 * Takes over the journals of dead processes, of this proxy and of earlier ones on the same folder. A journal is taken over
 * by renaming its folder to the name of this process, so that only one of two supervisors gets it.
 */
export class JournalReplays {
  private readonly options: JournalReplaysOptions
  private readonly stopping = new AbortController()
  private readonly folders: readonly string[]
  /** Owners whose processes seem to be alive and that Redis does not know, and since when. */
  private readonly unheardSinceMs = new Map<string, number>()
  private running: Promise<void> = Promise.resolve()
  private readonly pause = new WakeableSleep()
  private finishing = false

  constructor(options: JournalReplaysOptions) {
    this.options = options
    const { journalFolder, journalMemoryFolder } = options.config
    this.folders = journalMemoryFolder === null ? [journalFolder] : [journalFolder, journalMemoryFolder]
  }

  start(): void {
    this.running = this.run()
  }

  /** Looks immediately: a process has just ended. */
  lookNow(): void {
    this.pause.wake()
  }

  /** Delivers the remaining journals for at most `timeoutMs`; the next start continues. */
  async finish(timeoutMs: number): Promise<void> {
    this.finishing = true
    this.pause.wake()
    const rest = this.running.then(() => this.replayAll())
    // Calls wait while Redis is down.
    await Promise.race([
      rest.catch((error: unknown) => this.noteFault('all', error)),
      sleep(timeoutMs, undefined, { ref: false }),
    ])
    this.stopping.abort()
    await this.removeEmptyMemory()
  }

  /** Removes the folder in memory of an installation that is gone; nothing else would ever remove it. */
  private async removeEmptyMemory(): Promise<void> {
    const { journalMemoryFolder } = this.options.config
    // It refuses while another proxy has something there.
    if (journalMemoryFolder !== null) await rmdir(journalMemoryFolder).catch(() => undefined)
  }

  private async replayAll(): Promise<void> {
    for (const owner of await this.goneOwners()) await this.tryReplay(owner)
  }

  private async run(): Promise<void> {
    while (!this.finishing) {
      await this.replayAll().catch((error: unknown) => this.noteFault('all', error))
      await this.pause.sleep(this.options.limits.replayScanMs)
    }
  }

  private async tryReplay(owner: string): Promise<void> {
    const { log, redis, rpc, limits, config } = this.options
    const { signal } = this.stopping
    try {
      const folders = await this.takeOver(owner)
      if (folders.length === 0) return
      const content = await readJournal(folders, journalKeys(config.busKeys, owner))
      if (content.unread.length > 0) return await this.setAside(owner, folders, content.unread)
      const booked = () => askBooked(rpc, owner, true)
      const scripts = leaseScripts(redis)
      const closeOwner = defineScript(redis, 'closeOwner')
      const voidHolds = async () => (await rpc.call('void_holds', { owner })).left
      const keep = (endings: readonly EndingRecord[]) =>
        keepEndings(folders, endings, sealingKey(config.busKeys, owner))
      await new OwnerReplay({ owner, redis, scripts, closeOwner, limits, booked, voidHolds, keep, signal }).run(content)
      await redis.zrem(OWNERS_KEY, owner)
      this.unheardSinceMs.delete(owner)
      for (const folder of folders) await rm(folder, { recursive: true, force: true })
      if (content.open.length > 0) logEvent(log, 'orphaned_requests_voided', { owner, requests: content.open.length })
    } catch (error) {
      if (!signal.aborted) this.noteFault(owner, error)
    }
  }

  /** Charges nothing of a journal that is not read in full. The holds of its process are given back by control in time. */
  private async setAside(owner: string, folders: readonly string[], unread: readonly string[]): Promise<void> {
    for (const folder of folders) await rename(folder, unreadName(folder))
    logEvent(this.options.log, 'journal_unreadable', { owner, folders: folders.map(unreadName), unread })
  }

  private noteFault(journal: string, error: unknown): void {
    logEvent(this.options.log, 'journal_replay_failed', { journal, err: error })
  }

  /** Owners of journals that no running process writes. */
  private async goneOwners(): Promise<string[]> {
    const found = new Map<string, FoundFolder[]>()
    for (const folder of this.folders) {
      for (const name of await namesIn(folder)) {
        const journal = parseJournalName(name)
        if (journal === undefined) continue
        found.set(journal.owner, [...(found.get(journal.owner) ?? []), { path: join(folder, name), pid: journal.pid }])
      }
    }
    const gone: string[] = []
    for (const [owner, own] of found) if (await this.isGone(owner, own)) gone.push(owner)
    return gone
  }

  /**
   * The process id alone is no proof: after a restart of the machine it may belong to another process, and that of a process in
   * another container is not seen here.
   */
  private async isGone(owner: string, folders: readonly FoundFolder[]): Promise<boolean> {
    const { living, redis, limits } = this.options
    if (living().has(owner)) return false
    if (await isSeenDead(folders)) return true
    const [score, [seconds, micros]] = await Promise.all([redis.zscore(OWNERS_KEY, owner), redis.time()])
    const nowMs = Number(seconds) * 1_000 + Math.floor(Number(micros) / 1_000)
    // After Redis was emptied, no owner is known until its next heartbeat.
    const beatAtMs = score === null ? (this.unheardSinceMs.get(owner) ?? nowMs) : Number(score)
    if (score === null) this.unheardSinceMs.set(owner, beatAtMs)
    else this.unheardSinceMs.delete(owner)
    return nowMs - beatAtMs > limits.heartbeatTimeoutMs
  }

  /** @returns the folders of the journal, which this process owns now; none when another process took them over */
  private async takeOver(owner: string): Promise<string[]> {
    const own: string[] = []
    for (const folder of this.folders) {
      for (const name of await namesIn(folder)) {
        if (parseJournalName(name)?.owner !== owner) continue
        const path = join(folder, journalName(owner, process.pid))
        try {
          if (join(folder, name) !== path) await rename(join(folder, name), path)
          own.push(path)
        } catch (error) {
          if (!isMissing(error)) throw error
        }
      }
    }
    return own
  }
}

/** Whether the process of a journal is not there, and would be seen. */
async function isSeenDead(folders: readonly FoundFolder[]): Promise<boolean> {
  for (const { path, pid } of folders) {
    if (pid === process.pid) continue
    if (processLives(pid) || !(await seesProcessOf(path))) return false
  }
  return true
}

async function namesIn(folder: string): Promise<string[]> {
  try {
    await assertOwnFolder(folder)
    return await readdir(folder)
  } catch (error) {
    if (isMissing(error)) return []
    throw error
  }
}
