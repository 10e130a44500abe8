import type { RefusalFigures } from '../errors/figures.ts'

/** The field of the record in its entry of the stream. */
export const REFUSAL_FIELD = 'r'

/** The record that a proxy keeps of a refused request: figures, nothing of its content. */
export interface RefusalRecord {
  readonly id: string
  /** '' for a key that is not in force. */
  readonly account: string
  readonly key: string
  /** Of a key that is not in force, as `hashSecret` makes it; else absent. */
  readonly keyHash?: string
  /** The pattern of the path; '' where none is served. */
  readonly route: string
  /** The row of the error table. */
  readonly error: string
  readonly status: number
  /** 0 for none. */
  readonly retryAfterSeconds: number
  readonly figures: RefusalFigures
  /** Absent for a key that is not in force. */
  readonly settings?: RefusedSettings
  /** Soon after the refusal; absent where Redis did not answer. */
  readonly state?: RefusedState
}

/** The settings of the key when the request was refused. */
export interface RefusedSettings {
  readonly paused: boolean
  /** 0 for never. */
  readonly expiresAtMs: number
  /** The models that the key may use; null for all. */
  readonly models: number | null
  /** Of its caps, in the order of SPANS; '' for none. */
  readonly caps: readonly string[]
  /** Of its platform key; absent for a key that has none. */
  readonly platformCaps?: readonly string[]
  readonly requestsPerMinute: number
  /** Of an agent; null for none. */
  readonly requestCapUnits: number | null
}

/** The admission state of account and key. */
export interface RefusedState {
  /** The fields `coin` and `g` of the account. */
  readonly balance: readonly (string | null)[]
  /** COUNTERS of the key, and of its platform key. */
  readonly counters: readonly (string | null)[]
  readonly platformCounters?: readonly (string | null)[]
}
