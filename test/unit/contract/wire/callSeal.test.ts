// Goal: a bus key is replaced while proxies and controls run: at every step each part opens what every other one sealed.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { busKeysOf } from '../../../../contract/wire/busKeys.ts'
import { CallSeal } from '../../../../contract/wire/callSeal.ts'

const OLD = '0a'.repeat(32)
const NEW = '0b'.repeat(32)
/** SLUICE_BUS_KEY in the order of the steps of the documented rotation. */
const STEPS = [OLD, `${OLD},${NEW}`, `${NEW},${OLD}`, NEW]
const sealOf = (text: string): CallSeal => new CallSeal(busKeysOf(text), 'channel')
const opens = (opener: string, sealer: string): boolean => {
  const payload = Buffer.from('payload')
  const sealed = [sealOf(sealer).seal('label', payload), sealOf(sealer).sealKept('label', payload)]
  return sealed.every((bytes) => payload.equals(sealOf(opener).open('label', bytes) ?? Buffer.alloc(0)))
}

test('parts of two neighbouring steps understand each other both ways', () => {
  for (const [i, step] of STEPS.entries()) {
    for (const other of STEPS.slice(Math.max(0, i - 1), i + 2)) assert.ok(opens(step, other), `${i}: ${step} ${other}`)
  }
})

test('the first key seals: a part without it opens nothing', () => {
  assert.equal(opens(OLD, `${NEW},${OLD}`), false)
  assert.equal(opens(NEW, `${OLD},${NEW}`), false)
  assert.equal(opens(OLD, NEW), false)
})

test('a record that is kept changes its bytes with the first key alone', () => {
  const kept = (text: string) => sealOf(text).sealKept('label', Buffer.from('payload'))
  assert.deepEqual(kept(OLD), kept(`${OLD},${NEW}`))
  assert.notDeepEqual(kept(OLD), kept(`${NEW},${OLD}`))
})
