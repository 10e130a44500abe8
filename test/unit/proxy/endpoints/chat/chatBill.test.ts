// What a chat answer costs by what of it was produced and reported, and that a request whose tokens cannot be counted by
// a fault of the gateway still ends its hold.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { NO_USAGE, resolveRateSet, type TokenUsage } from '../../../../../contract/money/charge.ts'
import { heldMoney } from '../../../../../proxy/admission/held.ts'
import {
  billOf,
  type GrantedOrder,
  NOTHING_PRODUCED,
  type Produced,
  settleUsed,
} from '../../../../../proxy/endpoints/chat/chatBill.ts'
import { Run } from '../../../../../proxy/endpoints/run/run.ts'
import type { RunListener } from '../../../../../proxy/endpoints/run/runListener.ts'
import { RecordedExchange } from '../../../../support/parts/recordedExchange.ts'
import { metered, RunWorld, testPrincipal } from '../../../../support/parts/runWorld.ts'

const usage: TokenUsage = { ...NO_USAGE, input: 10, output: 5 }
// A unit for a token that goes in, two for one that comes out.
const rates = resolveRateSet({ input: 1_000_000, output: 2_000_000 })

/** A prompt of 40 bytes, which are estimated to be 10 tokens. */
function orderOf(prompt: () => unknown = () => ({ text: 'x', extraTokens: 3 })): GrantedOrder {
  const order = {
    request: { prompt: { textBytes: 40, images: 0 } },
    admitted: { model: { imageTokens: 0 }, rates: { ...rates, longThreshold: 0, long: rates } },
    source: { prompt },
  }
  return { order, maxTokens: 12 } as unknown as GrantedOrder
}

const BILLS: [what: string, produced: Produced, units: number, source: string][] = [
  ['a report', { usage, outputFrames: 5, outputBytes: 20, framesAtUsage: 5 }, 20, 'reported'],
  ['a report before the last output', { usage, outputFrames: 9, outputBytes: 36, framesAtUsage: 5 }, 28, 'estimated'],
  ['a report of more than followed', { usage, outputFrames: 3, outputBytes: 12, framesAtUsage: 2 }, 20, 'estimated'],
  ['no report', { usage: null, outputFrames: 9, outputBytes: 36, framesAtUsage: 0 }, 28, 'estimated'],
  ['more than was allowed', { usage: null, outputFrames: 40, outputBytes: 400, framesAtUsage: 0 }, 34, 'estimated'],
  [
    'an output alone',
    { usage: { ...usage, input: 0, missing: 'prompt' }, outputFrames: 5, outputBytes: 20, framesAtUsage: 5 },
    20,
    'estimated',
  ],
  [
    'a prompt alone',
    { usage: { ...usage, output: 0, missing: 'output' }, outputFrames: 7, outputBytes: 28, framesAtUsage: 7 },
    24,
    'estimated',
  ],
  ['nothing but the prompt', NOTHING_PRODUCED, 10, 'estimated'],
]
for (const [what, produced, units, source] of BILLS) {
  test(`${what} is billed ${units}, ${source}`, () => {
    const bill = billOf(orderOf(), produced)
    assert.deepEqual([bill.units, bill.source], [units, source])
  })
}

const UNREPORTED: Produced = { usage: null, outputFrames: 9, outputBytes: 36, framesAtUsage: 0 }

function heldRun(world: RunWorld): Run {
  const operation: RunListener = { serve: () => undefined, billOfPart: () => assert.fail('nothing has begun') }
  const run = new Run(new RecordedExchange(), testPrincipal(), metered, world.services, operation)
  run.start()
  world.hold.onHeld(heldMoney(1_000, 7))
  return run
}

const COUNTED: [what: string, counts: number[] | null, written: string | undefined, units: number][] = [
  ['counted tokens of the prompt', [7], undefined, 7 + 3 + 9 * 2],
  ['counted tokens of both', [7, 4], 'written', 7 + 3 + 4 * 2],
  ['no count in time', null, undefined, 10 + 9 * 2],
]
for (const [what, counts, written, units] of COUNTED) {
  test(`${what} are billed if the provider reports no usage`, async () => {
    const world = new RunWorld()
    world.counts = () => Promise.resolve(counts)
    const run = heldRun(world)
    settleUsed(run, orderOf(), UNREPORTED, { status: 'ok', errorCode: null }, written)
    assert.deepEqual([run.phase, world.endings.length], ['ending', 0])
    await nextTurn()
    assert.deepEqual([run.phase, world.chargeUnits], ['settling', units])
  })
}

test('a fault while the prompt is read again ends the hold, without a charge', async () => {
  const world = new RunWorld()
  const run = heldRun(world)
  const order = orderOf(() => Promise.reject(new Error('the thread is gone')))
  settleUsed(run, order, UNREPORTED, { status: 'ok', errorCode: null })
  await nextTurn()
  assert.deepEqual([world.crashes.map(String), world.endings.length], [['Error: the thread is gone'], 1])
  assert.deepEqual([run.phase, world.chargeUnits, world.active.size], ['done', -1, 0])
})
