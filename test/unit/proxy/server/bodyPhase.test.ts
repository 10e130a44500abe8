import assert from 'node:assert/strict'
import { test } from 'node:test'
import { assertBody, type BodyPhase, isPending } from '../../../../proxy/server/bodyPhase.ts'
import { phasesAfter } from '../../../support/phaseWays.ts'

const PHASES: readonly BodyPhase[] = ['unchecked', 'checking', 'paused', 'checked', 'arrived', 'released']
const after = (phase: BodyPhase) => phasesAfter(PHASES, assertBody, phase)

test('every phase can be reached, and each of them once', () => {
  assert.deepEqual(after('unchecked'), PHASES.slice(1))
  for (const phase of PHASES) assert.ok(!after(phase).includes(phase), phase)
})

test('memory is released once, from every phase, and a sender is checked once', () => {
  for (const phase of PHASES.slice(0, -1)) assert.ok(after(phase).includes('released'), phase)
  assert.deepEqual(after('released'), [])
  for (const phase of ['checked', 'arrived'] as const) assert.ok(!after(phase).some(isPending), phase)
})
