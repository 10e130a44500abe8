import type { AdmissionLimits } from '../limits.ts'

/** A key whose lease rests. */
export interface RestingKey {
  rests(nowMs: number): boolean
}

/** The keys of a process whose leases rest, the one unused for longest first. */
export class RestingKeys {
  private readonly limits: Pick<AdmissionLimits, 'leaseRestsMax'>
  /** The functions that end their rest. */
  private readonly ends = new Map<RestingKey, () => void>()

  constructor(limits: Pick<AdmissionLimits, 'leaseRestsMax'>) {
    this.limits = limits
  }

  get size(): number {
    return this.ends.size
  }

  /** A key begins to rest; beyond the limit, the first one ends. @param end gives its lease back, and removes it here */
  add(key: RestingKey, end: () => void): void {
    this.ends.set(key, end)
    if (this.ends.size <= this.limits.leaseRestsMax) return
    for (const endFirst of this.ends.values()) return endFirst()
  }

  remove(key: RestingKey): void {
    this.ends.delete(key)
  }

  /** Ends those whose time is over; all of them are of one hour, so that the first is the first to end. */
  review(nowMs: number): void {
    for (const [key, end] of this.ends) {
      if (key.rests(nowMs)) return
      end()
    }
  }
}
