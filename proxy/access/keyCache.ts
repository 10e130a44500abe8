import { GatewayError } from '../../contract/errors/errors.ts'
import type { sluice } from '../../contract/wire/generated/messages.js'
import { hashSecret } from '../../contract/wire/ids.ts'
import type { AccessLimits } from './limits.ts'
import { type Principal, toPrincipal } from './principal.ts'

/** As `newSecret` makes them; nothing else can be a key, and control need not be asked. */
const KEY_FORM = /^sk_[0-9A-Za-z]{43}$/

/** The errors of `toPrincipal` for a record that lacks a part. */
const PARTS_UNKNOWN: ReadonlySet<unknown> = new Set(['key_privacy_unavailable', 'settings_unavailable'])

/** Where the records of keys come from; null for a key that is unknown. */
export interface KeySource {
  find(keyHash: string): Promise<sluice.KeyRecord | null>
}

/** A part that depends on the records of keys. */
export interface KeyDependents {
  /** A key has changed, or is gone. */
  keyChanged(principal: Principal): void
  /** Any key may have changed. */
  keysChanged(): void
}

interface Entry {
  readonly principal: Principal
  /** After it, an entry in use is renewed. */
  renewAtMs: number
  /** Still the one that is kept of its key. */
  current: boolean
}

/**
 * API keys. A hit costs one map read; changes arrive by control's feed and drop their entry, so that an entry stays right
 * however long it is used. Only while the feed cannot be read is an entry past its time read again, in the background.
 */
export class KeyCache {
  private readonly records: KeySource
  private readonly limits: AccessLimits
  private readonly isFollowed: () => boolean
  /** In the order they were last read or renewed, so that the first is the one unused for longest. */
  private readonly entries = new Map<string, Entry>()
  /** The same entries by the key itself, which saves the hash; outdated entries are looked up again. */
  private readonly bySecret = new Map<string, Entry>()
  /** Hashes that control does not know, until when; apart from the others, so that guessing pushes out no real key. */
  private readonly unknown = new Map<string, number>()
  private readonly lookups = new Map<string, Promise<Principal | null>>()
  private readonly dependents: KeyDependents | undefined

  /** @param isFollowed whether every change of a key that is announced arrives, and none was missed */
  constructor(records: KeySource, isFollowed: () => boolean, limits: AccessLimits, dependents?: KeyDependents) {
    this.dependents = dependents
    this.records = records
    this.isFollowed = isFollowed
    this.limits = limits
  }

  /**
   * The key's principal when it is cached, else a promise of it.
   * @throws (or rejects with) GatewayError: invalid_api_key; policy_unavailable when control cannot be asked,
   *   key_privacy_unavailable or settings_unavailable when it does not know that part
   */
  find(secret: string, nowMs: number): Principal | Promise<Principal> {
    const known = this.bySecret.get(secret)
    if (known?.current === true && known.renewAtMs > nowMs) return known.principal
    const keyHash = hashSecret(secret)
    const entry = this.entries.get(keyHash)
    if (entry !== undefined) {
      if (entry.renewAtMs <= nowMs) this.renew(keyHash, entry, nowMs)
      makeRoom(this.bySecret, this.limits.keyCacheEntriesMax)
      this.bySecret.set(secret, entry)
      return entry.principal
    }
    if ((this.unknown.get(keyHash) ?? 0) > nowMs || !KEY_FORM.test(secret)) throw new GatewayError('invalid_api_key')
    return this.load(keyHash)
  }

  /** The principal of a key that is kept here; control is not asked. */
  peek(secret: string): Principal | undefined {
    const known = this.bySecret.get(secret)
    return known?.current === true ? known.principal : this.entries.get(hashSecret(secret))?.principal
  }

  /** Evicts the cached record of a key. */
  drop(keyHash: string): void {
    const entry = this.entries.get(keyHash)
    if (entry !== undefined) this.dependents?.keyChanged(entry.principal)
    this.forget(keyHash)
    this.unknown.delete(keyHash)
    // A lookup that is under way may carry the state before the change, so its answer must not be kept.
    this.lookups.delete(keyHash)
  }

  /** Forgets everything. */
  clear(): void {
    this.entries.clear()
    this.bySecret.clear()
    this.unknown.clear()
    this.lookups.clear()
    this.dependents?.keysChanged()
  }

  private renew(keyHash: string, entry: Entry, nowMs: number): void {
    if (this.isFollowed()) {
      entry.renewAtMs = nowMs + this.lifetimeMs()
      this.entries.delete(keyHash)
      this.entries.set(keyHash, entry)
      return
    }
    entry.renewAtMs = nowMs + this.limits.keyRefreshRetryMs
    // When control does not answer, for any reason, the entry stays and a later request retries.
    this.lookUp(keyHash).catch(() => undefined)
  }

  private async load(keyHash: string): Promise<Principal> {
    let principal: Principal | null
    try {
      principal = await this.lookUp(keyHash)
    } catch (error) {
      // Control that cannot read its database knows as little of the key as one that does not answer.
      const isUnknown = error instanceof GatewayError && error.status >= 500
      if (!isUnknown || PARTS_UNKNOWN.has(error.row)) throw error
      throw new GatewayError('policy_unavailable', { retryAfterSeconds: 1 })
    }
    if (principal === null) throw new GatewayError('invalid_api_key')
    return principal
  }

  /** Asks control, once for all who want the same key, and keeps the answer. */
  private lookUp(keyHash: string): Promise<Principal | null> {
    const underWay = this.lookups.get(keyHash)
    if (underWay !== undefined) return underWay
    const lookup: Promise<Principal | null> = this.ask(keyHash).then(
      (principal) => {
        if (this.lookups.get(keyHash) === lookup) {
          this.lookups.delete(keyHash)
          this.keep(keyHash, principal)
        }
        return principal
      },
      (error: unknown) => {
        if (this.lookups.get(keyHash) === lookup) this.lookups.delete(keyHash)
        throw error
      },
    )
    this.lookups.set(keyHash, lookup)
    return lookup
  }

  private async ask(keyHash: string): Promise<Principal | null> {
    const record = await this.records.find(keyHash)
    return record && toPrincipal(record, this.limits)
  }

  private keep(keyHash: string, principal: Principal | null): void {
    const nowMs = Date.now()
    this.forget(keyHash)
    this.unknown.delete(keyHash)
    if (principal === null) {
      makeRoom(this.unknown, this.limits.unknownKeysMax)
      this.unknown.set(keyHash, nowMs + this.limits.unknownKeyTtlMs)
    } else {
      const oldest = makeRoom(this.entries, this.limits.keyCacheEntriesMax)
      if (oldest !== undefined) oldest.current = false
      this.entries.set(keyHash, { principal, renewAtMs: nowMs + this.lifetimeMs(), current: true })
    }
  }

  /** Jitter, so that keys that were read together, as after a start, are not all read again together. */
  private lifetimeMs(): number {
    return this.limits.keyCacheTtlMs * (0.5 + Math.random() / 2)
  }

  private forget(keyHash: string): void {
    const entry = this.entries.get(keyHash)
    if (entry === undefined) return
    entry.current = false
    this.entries.delete(keyHash)
  }
}

/** Takes out the oldest entry of a full map, and returns it. */
function makeRoom<Value>(map: Map<string, Value>, sizeMax: number): Value | undefined {
  if (map.size < sizeMax) return undefined
  const first = map.entries().next()
  if (first.done) return undefined
  const [key, value] = first.value
  map.delete(key)
  return value
}
