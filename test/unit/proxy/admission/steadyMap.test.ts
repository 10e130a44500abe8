// Goal: a SteadyMap has what a Map would have, whatever comes and goes, also where keys share a place and where it grows.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { SteadyMap } from '../../../../proxy/admission/steadyMap.ts'

const KEYS = 120

test('any sequence of changes gives the same result as a Map', () => {
  const change = fc.record({ key: fc.nat(KEYS - 1), value: fc.option(fc.nat()) })
  const names = fc.uniqueArray(fc.string({ maxLength: 30 }), { minLength: KEYS, maxLength: KEYS })
  fc.assert(
    fc.property(names, fc.array(change, { maxLength: 600 }), (keys, changes) => {
      const map = new Map<string, number>()
      const steady = new SteadyMap<number>()
      for (const { key, value } of changes) {
        const name = keys[key] ?? ''
        if (value === null) assert.equal(steady.delete(name), map.delete(name))
        else {
          map.set(name, value)
          steady.set(name, value)
        }
      }
      assert.equal(steady.size, map.size)
      for (const name of keys) assert.equal(steady.get(name), map.get(name))
      assert.deepEqual([...steady.values()].sort(), [...map.values()].sort())
    }),
    { numRuns: 200, verbose: 1 },
  )
})

test('long churn reuses the existing slots', () => {
  const steady = new SteadyMap<number>(32)
  const keysOf = (map: SteadyMap<number>): unknown => Reflect.get(map, 'keys')
  const before = keysOf(steady)
  for (let i = 0; i < 100_000; i++) {
    if (i >= 32) assert.ok(steady.delete(`req_${i - 32}`))
    steady.set(`req_${i}`, i)
  }
  assert.equal(keysOf(steady), before)
  assert.equal(steady.size, 32)
})
