import assert from 'node:assert/strict'
import { test } from 'node:test'
import { assertKey, type KeyPhase } from '../../../../../proxy/admission/leases/keyPhase.ts'
import { phasesAfter } from '../../../../support/phaseWays.ts'

const PHASES: readonly KeyPhase[] = ['idle', 'renewing', 'asking', 'recalling']

test('every phase leads to every other', () => {
  for (const phase of PHASES) assert.deepEqual(phasesAfter(PHASES, assertKey, phase), PHASES)
})

test('a recall is made for requests that wait alone, and no lease is renewed in advance while one waits', () => {
  assert.throws(() => assertKey('idle', 'recalling'))
  assert.throws(() => assertKey('renewing', 'recalling'))
  assert.throws(() => assertKey('asking', 'renewing'))
  assert.throws(() => assertKey('recalling', 'renewing'))
})
