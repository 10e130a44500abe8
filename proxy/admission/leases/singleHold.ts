import type { Ending } from '../ending.ts'
import { leaseText } from '../journal/records.ts'
import type { HeldFrom } from './lease.ts'
import { HOUR_MS, type LeaseIdentity, leaseField } from './leaseName.ts'

const PREFIX = 'L:req_'

/** Whether a lease has been made of the single hold of a request, which gives it its name. */
export function isSingle(field: string): boolean {
  return field.startsWith(PREFIX)
}

/** The request that a hold belongs to. */
export interface SingleOrigin extends Pick<Ending, 'requestId' | 'shard' | 'accountId' | 'keyId'> {
  /** `keyId`, or `keyId/platformKeyId` of a sub-key. */
  readonly keys: string
  /** On Redis's clock. */
  readonly heldAtMs: number
}

/**
 * A hold that Redis keeps by itself, because it may outlive this process or because control has taken it. On ending, Redis
 * records it as a lease that holds nothing else.
 */
export class SingleHold implements HeldFrom {
  readonly name: LeaseIdentity
  readonly text: string

  constructor({ requestId, shard, accountId, keys, keyId, heldAtMs }: SingleOrigin) {
    const hour = Math.floor(heldAtMs / HOUR_MS)
    this.name = { shard, accountId, keys, keyId, hour, field: leaseField(requestId, hour) }
    this.text = leaseText(this.name)
  }

  /** The uncharged part is free once Redis has the ending. */
  release(): void {}
}
