// Goal: candidates share conversations by their weights, and a conversation moves only when its own candidate goes or comes back.
// Method: random sets of candidates and of affinities, and sets without some of them.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { placeOf } from '../../../../../contract/std/fnv1a.ts'
import { byAffinity, type Candidate } from '../../../../../proxy/upstream/keys/rendezvous.ts'

interface Named extends Candidate {
  readonly name: string
}

const named = (name: string, weight: number): Named => ({ name, weight, place: placeOf(name) })
const order = (candidates: readonly Named[], affinity: number): readonly Named[] =>
  byAffinity(candidates, affinity, (one) => one)
const first = (candidates: readonly Named[], affinity: number): string => order(candidates, affinity)[0]?.name ?? ''

const CONVERSATIONS = 40_000
const affinities = (seed: number): number[] =>
  Array.from({ length: CONVERSATIONS }, (_, index) => placeOf(`acct_${seed} conversation ${index}`))

const candidates = fc
  .tuple(
    fc.string({ minLength: 1, maxLength: 12 }),
    fc.array(fc.integer({ min: 1, max: 4 }), { minLength: 2, maxLength: 6 }),
  )
  .map(([provider, weights]) => weights.map((weight, index) => named(`${provider}/key-${index}`, weight)))

test('each candidate is first for a share by its weight, within 5 % of it', () => {
  fc.assert(
    fc.property(candidates, fc.nat(), (keys, seed) => {
      const counts = new Map<string, number>()
      for (const affinity of affinities(seed)) {
        const name = first(keys, affinity)
        counts.set(name, (counts.get(name) ?? 0) + 1)
      }
      const total = keys.reduce((sum, { weight }) => sum + weight, 0)
      for (const { name, weight } of keys) {
        const share = (CONVERSATIONS * weight) / total
        // Five deviations of chance beside the 5 %: smaller shares vary more.
        const slack = Math.max(0.05 * share, 5 * Math.sqrt(share))
        assert.ok(Math.abs((counts.get(name) ?? 0) - share) <= slack, `${name}: ${counts.get(name)} of ${share}`)
      }
    }),
    { numRuns: 40 },
  )
})

test('ten equal keys share 200,000 conversations within 5 %', () => {
  const keys = Array.from({ length: 10 }, (_, index) => named(`acme/${index}`, 1))
  const counts = new Map<string, number>(keys.map(({ name }) => [name, 0]))
  for (let i = 0; i < 200_000; i++) {
    const name = first(keys, placeOf(`session ${i}`))
    counts.set(name, (counts.get(name) ?? 0) + 1)
  }
  for (const [name, count] of counts) assert.ok(Math.abs(count - 20_000) <= 1_000, `${name}: ${count}`)
})

test('a conversation stays on its candidate while others go and come back; it moves only when its own goes', () => {
  const plans = fc.array(fc.array(fc.boolean(), { minLength: 6, maxLength: 6 }), { minLength: 20, maxLength: 20 })
  fc.assert(
    fc.property(candidates, plans, fc.integer({ min: 0, max: 2 ** 32 - 1 }), (keys, turns, affinity) => {
      const ranking = order(keys, affinity)
      for (const up of turns) {
        const present = keys.filter((_, index) => up[index] === true)
        // Whatever is there, it is the one that the conversation prefers among them.
        assert.equal(
          order(present, affinity)[0],
          ranking.find((one) => present.includes(one)),
        )
      }
    }),
  )
})

test('the share of a candidate that goes is spread over the others by their weights', () => {
  const keys = [named('acme/a', 1), named('acme/b', 2), named('acme/c', 3), named('acme/d', 4)]
  const left = keys.slice(0, 3)
  const moved = affinities(7).filter((affinity) => first(keys, affinity) === 'acme/d')
  const counts = left.map(({ name }) => moved.filter((affinity) => first(left, affinity) === name).length)
  for (const [index, count] of counts.entries()) {
    const share = (moved.length * (index + 1)) / 6
    assert.ok(Math.abs(count - share) <= 0.06 * share, `${index}: ${count} of ${share}`)
  }
})

test('a candidate alone, or none, needs no hash', () => {
  const alone = [named('acme/a', 1)]
  assert.equal(order(alone, 1), alone)
  assert.deepEqual(order([], 1), [])
})
