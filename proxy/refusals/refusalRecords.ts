import type { GatewayError } from '../../contract/errors/errors.ts'
import { COUNTERS } from '../../contract/wire/caps.ts'
import { hashSecret } from '../../contract/wire/ids.ts'
import type { Redis } from '../../contract/wire/redis.ts'
import { accountKey, keyCountersKey, refusalsKey, UNKNOWN_REFUSALS_KEY } from '../../contract/wire/redisKeys.ts'
import { pipelineOf } from '../../contract/wire/redisShards.ts'
import { REFUSAL_FIELD, type RefusalRecord, type RefusedState } from '../../contract/wire/refusalRecord.ts'
import { readApiKey } from '../access/credential.ts'
import type { KeyCache } from '../access/keyCache.ts'
import type { Principal } from '../access/principal.ts'
import type { RequestCounters } from '../metrics/requestMetrics.ts'
import type { Exchange } from '../server/exchange.ts'
import type { RefusalLimits } from './limits.ts'
import { settingsOf } from './settingsOf.ts'

const MINUTE_MS = 60_000
const READS_OF_ONE = 3

type Counts = RequestCounters['refusalRecords']
type Refused = Pick<Exchange, 'id' | 'head' | 'route' | 'figures'>

interface Noted {
  readonly record: RefusalRecord
  /** Undefined for a key that is not in force. */
  readonly principal: Principal | undefined
}

export interface RefusalRecordsOptions {
  readonly redis: Redis
  readonly keys: Pick<KeyCache, 'peek'>
  readonly limits: RefusalLimits
  /** Counts what becomes of the records. */
  readonly counts: Counts
  readonly onFault: (error: unknown) => void
}

/**
 * Keeps the figures of refused requests in Redis, for those who ask why they were refused. No request waits for it; beyond its bounds
 * records are dropped and counted.
 */
export class RefusalRecords {
  private readonly options: RefusalRecordsOptions
  private waiting: Noted[] = []
  /** Records of this minute by account and error. */
  private readonly noted = new Map<string, number>()
  private minute = 0
  private timer: NodeJS.Timeout | undefined
  private writing: Promise<void> = Promise.resolve()

  constructor(options: RefusalRecordsOptions) {
    this.options = options
  }

  /** Notes a request that was refused; one without a key is left out. */
  note(error: GatewayError, exchange: Refused, nowMs: number = Date.now()): void {
    const { limits, counts, keys } = this.options
    const secret = secretOf(exchange)
    if (secret === '') return
    if (this.waiting.length >= limits.refusalRecordsWaitingMax) {
      counts.dropped++
      return
    }
    const principal = keys.peek(secret)
    if (!this.hasRoom(`${principal?.accountId ?? ''} ${error.row}`, nowMs)) {
      counts.dropped++
      return
    }
    this.waiting.push({ principal, record: recordOf(error, exchange, principal, secret) })
    this.timer ??= setTimeout(() => this.flush(), limits.refusalRecordsGatherMs)
  }

  /** Writes what waits. */
  stop(): Promise<void> {
    this.flush()
    return this.writing
  }

  private hasRoom(name: string, nowMs: number): boolean {
    const { refusalRecordsPerMinute, refusalRecordsCountedMax } = this.options.limits
    const minute = Math.floor(nowMs / MINUTE_MS)
    if (minute !== this.minute) {
      this.minute = minute
      this.noted.clear()
    }
    const before = this.noted.get(name)
    if (before === undefined && this.noted.size >= refusalRecordsCountedMax) return false
    if (before !== undefined && before >= refusalRecordsPerMinute) return false
    this.noted.set(name, (before ?? 0) + 1)
    return true
  }

  /** One write at a time, so that no more than one batch is under way beside the one that is gathered. */
  private flush(): void {
    clearTimeout(this.timer)
    this.timer = undefined
    this.writing = this.writing.then(() => this.writeWaiting())
  }

  private async writeWaiting(): Promise<void> {
    const { counts, onFault } = this.options
    const batch = [...this.waiting]
    if (batch.length === 0) return
    try {
      await this.write(batch)
      counts.written += batch.length
    } catch (error) {
      counts.failed += batch.length
      onFault(error)
    }
    // Until then they count as waiting.
    this.waiting = this.waiting.slice(batch.length)
    if (this.waiting.length > 0)
      this.timer ??= setTimeout(() => this.flush(), this.options.limits.refusalRecordsGatherMs)
  }

  private async write(batch: readonly Noted[]): Promise<void> {
    const { redis, limits } = this.options
    const { refusalRecordsMax, refusalRecordsKeptMs } = limits
    const states = await this.readStates(batch)
    const pipeline = pipelineOf(redis)
    const oldest = String(Date.now() - refusalRecordsKeptMs)
    for (const [i, { record, principal }] of batch.entries()) {
      const key = principal === undefined ? UNKNOWN_REFUSALS_KEY : refusalsKey(principal.shard)
      const state = states[i]
      const text = JSON.stringify(state === undefined ? record : { ...record, state })
      pipeline.xadd(key, 'MAXLEN', '=', refusalRecordsMax, '*', REFUSAL_FIELD, text)
      pipeline.xtrim(key, 'MINID', oldest)
      pipeline.pexpire(key, refusalRecordsKeptMs)
    }
    for (const [error] of (await pipeline.exec()) ?? []) if (error !== null) throw error
  }

  /** The admission state of the accounts and keys. */
  private async readStates(batch: readonly Noted[]): Promise<(RefusedState | undefined)[]> {
    const pipeline = pipelineOf(this.options.redis)
    const known = batch.flatMap(({ principal }) => principal ?? [])
    if (known.length === 0) return []
    for (const { shard, accountId, keyId, platform } of known) {
      const countersKey = keyCountersKey(shard, keyId)
      pipeline.hmget(accountKey(shard, accountId), 'coin', 'g')
      pipeline.hmget(countersKey, ...COUNTERS)
      pipeline.hmget(platform?.countersKey ?? countersKey, ...COUNTERS)
    }
    const found = ((await pipeline.exec()) ?? []).map(([error, values]) => {
      if (error !== null) throw error
      return values as (string | null)[]
    })
    let at = 0
    return batch.map(({ principal }) => {
      if (principal === undefined) return undefined
      const [balance = [], counters = [], platformCounters = []] = found.slice(at, at + READS_OF_ONE)
      at += READS_OF_ONE
      return { balance, counters, ...(principal.platform !== null && { platformCounters }) }
    })
  }
}

/** The API key of a request; '' for one without. */
function secretOf({ head }: Refused): string {
  if (head.authorization === '' && head.apiKey === '') return ''
  try {
    return readApiKey(head)
  } catch {
    return ''
  }
}

function recordOf(
  error: GatewayError,
  { id, route, figures }: Refused,
  principal: Principal | undefined,
  secret: string,
): RefusalRecord {
  return {
    id,
    account: principal?.accountId ?? '',
    key: principal?.keyId ?? '',
    ...(principal === undefined && { keyHash: hashSecret(secret) }),
    route: route ?? '',
    error: error.row,
    status: error.status,
    retryAfterSeconds: error.retryAfterSeconds ?? 0,
    figures: { ...figures, ...error.figures },
    ...(principal !== undefined && { settings: settingsOf(principal) }),
  }
}
