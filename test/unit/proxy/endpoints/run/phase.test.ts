// Every change from one phase of a request to another, allowed and refused, and what follows from all of them: no way
// through the phases ends a hold twice, or leaves the request without an end.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { assertChange, isDecided, isServed, type Phase } from '../../../../../proxy/endpoints/run/phase.ts'
import { PhaseFault } from '../../../../../proxy/phases.ts'

const PHASES: readonly Phase[] = ['admitting', 'calling', 'answering', 'committed', 'ending', 'settling', 'done']
const ALLOWED: ReadonlySet<string> = new Set([
  'admitting > calling',
  'admitting > ending',
  'admitting > done',
  'calling > answering',
  'calling > ending',
  'answering > calling',
  'answering > committed',
  'answering > ending',
  'committed > ending',
  'ending > settling',
  'ending > done',
  'settling > done',
])

function mayChange(from: Phase, to: Phase): boolean {
  try {
    assertChange(from, to)
    return true
  } catch (error) {
    assert.ok(error instanceof PhaseFault)
    assert.match(error.message, new RegExp(`${from}.*${to}`))
    return false
  }
}

for (const from of PHASES) {
  for (const to of PHASES) {
    const change = `${from} > ${to}`
    test(`${change} is ${ALLOWED.has(change) ? 'allowed' : 'refused'}`, () => {
      assert.equal(mayChange(from, to), ALLOWED.has(change))
    })
  }
}

test('for any attempted transitions, a hold is ended at most once, and no phase follows the end', () => {
  fc.assert(
    fc.property(fc.array(fc.constantFrom(...PHASES), { maxLength: 40 }), (wishes) => {
      let phase: Phase = 'admitting'
      const way = wishes.filter((wish) => {
        if (!mayChange(phase, wish)) return false
        phase = wish
        return true
      })
      assert.ok(way.filter((step) => step === 'settling').length <= 1)
      assert.ok(!way.slice(0, -1).includes('done'))
      const ended = way.findIndex((step) => isDecided(step))
      if (ended >= 0) assert.ok(way.slice(ended).every((step) => !isServed(step)))
    }),
  )
})

test('a request is served, decided, or waits for its hold', () => {
  assert.deepEqual(PHASES.filter(isServed), ['calling', 'answering', 'committed'])
  assert.deepEqual(PHASES.filter(isDecided), ['ending', 'settling', 'done'])
})
