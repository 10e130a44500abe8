import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { NextTurn } from '../../../../../proxy/admission/leases/nextTurn.ts'

test('functions of one turn run in the next one, together and in their order; those that they add run in the one after', async () => {
  const turn = new NextTurn()
  const ran: string[] = []
  turn.add(() => {
    ran.push('a')
    // Between functions of their own turns, microtasks would run.
    queueMicrotask(() => ran.push('microtask'))
    turn.add(() => ran.push('c'))
  })
  turn.add(() => ran.push('b'))
  assert.deepEqual(ran, [])
  await nextTurn()
  assert.deepEqual(ran, ['a', 'b', 'microtask'])
  await nextTurn()
  assert.deepEqual(ran, ['a', 'b', 'microtask', 'c'])
})
