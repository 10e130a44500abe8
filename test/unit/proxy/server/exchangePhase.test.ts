import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  assertExchange,
  type ExchangePhase,
  isBegun,
  isClosed,
  isGone,
} from '../../../../proxy/server/exchangePhase.ts'
import { phasesAfter } from '../../../support/phaseWays.ts'

const PHASES: readonly ExchangePhase[] = ['open', 'begun', 'streaming', 'ended', 'left', 'gone']
const after = (phase: ExchangePhase) => phasesAfter(PHASES, assertExchange, phase)

test('every phase can be reached, and each of them once', () => {
  assert.deepEqual(after('open'), PHASES.slice(1))
  for (const phase of PHASES) assert.ok(!after(phase).includes(phase), phase)
})

test('an answer that was closed is never opened again, and one that had begun never counts as not begun', () => {
  for (const phase of PHASES.filter(isClosed)) assert.ok(after(phase).every(isClosed), phase)
  for (const phase of PHASES.filter(isBegun)) assert.ok(after(phase).every(isBegun), phase)
  for (const phase of PHASES.filter(isGone)) assert.deepEqual(after(phase), [])
})
