import { spread32 } from '../../../contract/std/fnv1a.ts'

const PLACES = 2 ** 32

/** A candidate: its share, and its own place among all hashes. */
export interface Candidate {
  readonly weight: number
  readonly place: number
}

/**
 * The candidates in the order that an affinity prefers them, by weighted rendezvous hashing (https://doi.org/10.1109/90.663936):
 * each is first for a share of the affinities by its weight. Where one is gone, its share alone moves, to the others by their
 * weights; and it comes back when the candidate does. Every process gives the same order.
 * @param affinity a hash with even bits
 */
export function byAffinity<Item>(
  items: readonly Item[],
  affinity: number,
  candidateOf: (item: Item) => Candidate,
): readonly Item[] {
  if (items.length < 2) return items
  const scored = items.map((item) => ({ item, score: scoreOf(affinity, candidateOf(item)) }))
  scored.sort((a, b) => b.score - a.score)
  return scored.map(({ item }) => item)
}

/** The highest of exponential variables with these rates is each candidate's with a probability by its weight. */
function scoreOf(affinity: number, { weight, place }: Candidate): number {
  // One round leaves places that differ in a few bits alike for many affinities.
  const hash = spread32(Math.imul(spread32(affinity ^ place), 0x9e3779b1) + place)
  return weight / -Math.log((hash + 0.5) / PLACES)
}
