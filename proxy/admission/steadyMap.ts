import { fnv1a } from '../../contract/std/fnv1a.ts'

const CAPACITY_MIN = 64
const HASHED_LENGTH = 8

/**
 * A map by identifier, for entries that are added and removed with every request. It changes its two arrays in place (linear
 * probing with backward-shift deletion). A Map under constant churn is copied from time to time, and each old copy refers to
 * the next one: once the garbage collector has moved one of them to the old generation, all entries of later copies stay
 * alive until a major collection.
 */
export class SteadyMap<V> {
  private keys: (string | undefined)[]
  private entries: (V | undefined)[]
  /** Of the keys, whose characters lie scattered in memory. */
  private hashes: Int32Array
  private mask: number
  private count = 0

  /** @param expected entries that it has room for without growing */
  constructor(expected = 0) {
    let capacity = CAPACITY_MIN
    while (capacity < expected * 2) capacity *= 2
    this.keys = new Array<string | undefined>(capacity).fill(undefined)
    this.entries = new Array<V | undefined>(capacity).fill(undefined)
    this.hashes = new Int32Array(capacity)
    this.mask = capacity - 1
  }

  get size(): number {
    return this.count
  }

  get(key: string): V | undefined {
    return this.entries[this.placeOf(key, hashOf(key))]
  }

  set(key: string, value: V): void {
    const hash = hashOf(key)
    let at = this.placeOf(key, hash)
    if (this.keys[at] === undefined) {
      if ((this.count + 1) * 2 > this.keys.length) {
        this.grow()
        at = this.placeOf(key, hash)
      }
      this.count++
    }
    this.put(at, key, hash, value)
  }

  delete(key: string): boolean {
    const { keys, entries, hashes, mask } = this
    let hole = this.placeOf(key, hashOf(key))
    if (keys[hole] === undefined) return false
    this.count--
    for (let at = (hole + 1) & mask; ; at = (at + 1) & mask) {
      const moved = keys[at]
      if (moved === undefined) break
      // An entry at least as far from its own place as from the hole fills the hole.
      const hash = hashes[at] as number
      if (((at - hash) & mask) < ((at - hole) & mask)) continue
      this.put(hole, moved, hash, entries[at])
      hole = at
    }
    keys[hole] = undefined
    entries[hole] = undefined
    return true
  }

  /** In no order; an entry that is added or removed meanwhile can make it miss another one. */
  *values(): Generator<V> {
    for (const [at, key] of this.keys.entries()) if (key !== undefined) yield this.entries[at] as V
  }

  /** The index of the key, or of the free place for it. */
  private placeOf(key: string, hash: number): number {
    const { keys, hashes, mask } = this
    let at = hash & mask
    while (keys[at] !== undefined && (hashes[at] !== hash || keys[at] !== key)) at = (at + 1) & mask
    return at
  }

  private put(at: number, key: string, hash: number, value: V | undefined): void {
    this.keys[at] = key
    this.hashes[at] = hash
    this.entries[at] = value
  }

  private grow(): void {
    const { keys, entries, hashes } = this
    this.keys = new Array<string | undefined>(keys.length * 2).fill(undefined)
    this.entries = new Array<V | undefined>(keys.length * 2).fill(undefined)
    this.hashes = new Int32Array(keys.length * 2)
    this.mask = keys.length * 2 - 1
    for (const [i, key] of keys.entries()) {
      if (key === undefined) continue
      const hash = hashes[i] as number
      this.put(this.placeOf(key, hash), key, hash, entries[i])
    }
  }
}

/** The hash of the end of an identifier, which is its random part. */
function hashOf(key: string): number {
  const hash = fnv1a(key, Math.max(0, key.length - HASHED_LENGTH))
  return hash ^ (hash >>> 15)
}
