import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type AttemptPhase, assertAttempt, isCommitted } from '../../../../proxy/upstream/attemptPhase.ts'
import { phasesAfter } from '../../../support/phaseWays.ts'

const PHASES: readonly AttemptPhase[] = [
  'ready',
  'choosing',
  'asking',
  'refusing',
  'answering',
  'answered',
  'committed',
  'complete',
  'over',
]
const after = (phase: AttemptPhase) => phasesAfter(PHASES, assertAttempt, phase)

test('every phase can be reached, and every one can end', () => {
  assert.deepEqual(after('ready'), PHASES.slice(1))
  for (const phase of PHASES.slice(0, -1)) assert.ok(after(phase).includes('over'), phase)
})

test('after the commit no route is asked, and after the end nothing follows', () => {
  for (const phase of PHASES.filter(isCommitted)) assert.ok(!after(phase).includes('asking'), phase)
  assert.deepEqual(after('complete'), ['over'])
  assert.deepEqual(after('over'), [])
})

test('an answer counts only once its head has arrived, and an error answer never counts', () => {
  for (const phase of ['ready', 'choosing', 'asking', 'refusing'] as const) {
    assert.throws(() => assertAttempt(phase, 'committed'), {
      message: `an attempt that is ${phase} cannot be committed next`,
    })
    assert.throws(() => assertAttempt(phase, 'complete'))
  }
})
