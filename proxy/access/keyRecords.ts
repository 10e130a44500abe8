import { GatewayError } from '../../contract/errors/errors.ts'
import { sluice } from '../../contract/wire/generated/messages.js'
import { errorOf } from '../../contract/wire/refusal.ts'
import { type RpcClient, UnreadableReply } from '../bus/rpcClient.ts'
import type { KeptKeyRecords } from './keptKeyRecords.ts'
import type { AccessLimits } from './limits.ts'

/** A key whose record somebody waits for. */
interface Wanted {
  readonly keyHash: string
  readonly resolve: (record: sluice.KeyRecord | null) => void
  readonly reject: (error: unknown) => void
}

export interface KeyRecordsOptions {
  readonly rpc: Pick<RpcClient, 'call'>
  readonly kept: Pick<KeptKeyRecords, 'read'>
  /** Runs work once the events of this turn are processed. */
  readonly schedule: (work: () => void) => void
  /** Counts the records by the place that was asked for them last. */
  readonly counts: Record<'redis' | 'control', number>
  readonly limits: AccessLimits
}

/**
 * Reads key records. Those that are wanted in one turn of the event loop are read from Redis in one call, and control is asked
 * for the rest in another one.
 */
export class KeyRecords {
  private readonly options: KeyRecordsOptions
  private waiting: Wanted[] = []
  /** Records that are waited for, also in calls under way. */
  private wantedCount = 0
  private readonly flush = () => {
    const waiting = this.waiting
    this.waiting = []
    const { keysPerCallMax } = this.options.limits
    for (let from = 0; from < waiting.length; from += keysPerCallMax) {
      void this.read(waiting.slice(from, from + keysPerCallMax))
    }
  }

  constructor(options: KeyRecordsOptions) {
    this.options = options
  }

  /**
   * The record of a key; null when control knows none.
   * @throws (rejects with) GatewayError: policy_unavailable when too many are waited for, key_privacy_unavailable for a record that
   *   cannot be decoded; errors of the call
   */
  async find(keyHash: string): Promise<sluice.KeyRecord | null> {
    const { schedule, limits } = this.options
    if (this.wantedCount >= limits.keyLookupsMax) throw new GatewayError('policy_unavailable', { retryAfterSeconds: 1 })
    if (this.waiting.length === 0) schedule(this.flush)
    this.wantedCount++
    try {
      return await new Promise<sluice.KeyRecord | null>((resolve, reject) => {
        this.waiting.push({ keyHash, resolve, reject })
      })
    } finally {
      this.wantedCount--
    }
  }

  private async read(wanted: readonly Wanted[]): Promise<void> {
    const { kept, counts } = this.options
    const { records, claim } = await kept.read(wanted.map(({ keyHash }) => keyHash))
    const missing = wanted.filter(({ keyHash, resolve }) => {
      const record = records.get(keyHash)
      if (record !== undefined) resolve(record)
      return record === undefined
    })
    counts.redis += wanted.length - missing.length
    counts.control += missing.length
    if (missing.length > 0) await this.ask(missing, claim)
  }

  private async ask(wanted: readonly Wanted[], claim: string): Promise<void> {
    try {
      const keyHashes = wanted.map(({ keyHash }) => keyHash)
      const { keys } = await this.options.rpc.call('resolve_keys', { keyHashes, claim })
      for (const [i, { resolve, reject }] of wanted.entries()) {
        try {
          resolve(recordOf(keys[i]))
        } catch (error) {
          reject(error)
        }
      }
    } catch (error) {
      for (const { reject } of wanted) reject(error instanceof UnreadableReply ? unreadable(error) : error)
    }
  }
}

/** @throws GatewayError of control's refusal; key_privacy_unavailable */
function recordOf(key: sluice.ResolvedKey.$Properties | undefined): sluice.KeyRecord | null {
  const refusal = key?.refusal
  if (refusal) {
    const error = errorOf(refusal)
    if (error.code === 'invalid_api_key') return null
    throw error
  }
  if (!key?.record || key.record.length === 0) throw unreadable()
  try {
    return sluice.KeyRecord.decode(key.record)
  } catch (error) {
    throw unreadable(error)
  }
}

/** Without a readable record the key's privacy is unknown, and no request may run. */
function unreadable(cause?: unknown): GatewayError {
  return new GatewayError('key_privacy_unavailable', { retryAfterSeconds: 1, cause })
}
