// Goal: whatever a provider answers, in whatever order, however late and often, and whenever control is restarted, a batch job ends
// in one state, with one charge or none, its hold released, and it is run at most once. Method: fast-check chooses jobs,
// faults of calls, ends of batches and steps of the clock over a real book; Redis and the provider are models.

import { after, before, test } from 'node:test'
import fc from 'fast-check'
import { migrate } from '../../../control/runtime/db/migrate.ts'
import { createPool, type Pool } from '../../../control/runtime/db/pool.ts'
import { batchLimits as limits } from '../../support/limits.ts'
import type { Fault } from '../../support/parts/batchModels.ts'
import { BatchWorld } from '../../support/parts/batchWorld.ts'
import { rounds } from '../../support/rounds.ts'
import { freshDatabase } from '../../support/services.ts'

const DAY_MS = 86_400_000
const FAULTS: readonly Fault[] = [
  'none',
  'unsent',
  'lost_before',
  'lost_after',
  'busy',
  'broken',
  'garbage',
  'crash',
  'crash_after',
  'late',
]

let pool: Pool

before(async () => {
  pool = createPool(await freshDatabase(), limits)
  await migrate(pool)
})

after(() => pool?.end())

type Step =
  | { readonly kind: 'submit'; readonly provider: 'packs' | 'plain' }
  | { readonly kind: 'fault'; readonly fault: Fault }
  | { readonly kind: 'finish'; readonly status: string; readonly says: readonly number[] }
  | { readonly kind: 'clock'; readonly ms: number }
  | { readonly kind: 'restart' }
  | { readonly kind: 'lose' }
  | { readonly kind: 'release' }
  | { readonly kind: 'pass' }

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('submit' as const),
      provider: fc.constantFrom('packs' as const, 'plain' as const),
    }),
  },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('fault' as const), fault: fc.constantFrom(...FAULTS) }) },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('finish' as const),
      status: fc.constantFrom('completed', 'completed', 'expired', 'failed', 'cancelled'),
      says: fc.array(fc.integer({ min: 0, max: 3 }), { minLength: 1, maxLength: 4 }),
    }),
  },
  {
    weight: 5,
    arbitrary: fc.record({
      kind: fc.constant('clock' as const),
      ms: fc.constantFrom(500, 3_000, 20_000, 130_000, 700_000, DAY_MS / 2),
    }),
  },
  { weight: 3, arbitrary: fc.constantFrom<Step[]>({ kind: 'restart' }, { kind: 'lose' }, { kind: 'release' }) },
  { weight: 8, arbitrary: fc.constant({ kind: 'pass' as const }) },
)

/** What a batch says of a job: nothing, a completion, one that comes twice, an error. */
const SAYINGS = [
  { done: 0, failed: 0 },
  { done: 1, failed: 0 },
  { done: 2, failed: 1 },
  { done: 0, failed: 2 },
] as const

async function take(world: BatchWorld, step: Step): Promise<void> {
  if (step.kind === 'submit') await world.submit(step.provider)
  else if (step.kind === 'fault') world.provider.faults.push(step.fault)
  else if (step.kind === 'clock') world.nowMs += step.ms
  else if (step.kind === 'restart') world.restart()
  else if (step.kind === 'lose') world.holds.loseAnswers++
  else if (step.kind === 'pass') await world.pass()
  else if (step.kind === 'release') await world.release()
  else {
    const open = world.provider.batches.find((batch) => batch.status === 'in_progress')
    if (open === undefined) return
    world.provider.finish(open, step.status, (i) => SAYINGS[step.says[i % step.says.length] ?? 0] ?? SAYINGS[0])
  }
}

test('any order of answers, duplicates and restarts: one end, one charge, no hold left', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 40 }), async (steps) => {
      // Of the runs before, which may have failed half way.
      await pool.query('TRUNCATE batch_jobs, batch_groups, webhooks, webhook_attempts')
      const world = new BatchWorld(pool)
      for (const one of steps) await take(world, one)
      world.provider.faults.length = 0
      world.holds.loseAnswers = 0
      await world.release()
      for (let i = 0; i < 8; i++) {
        await world.pass()
        world.nowMs += DAY_MS / 4
      }
      for (let i = 0; i < 3; i++) {
        world.nowMs += 700_000
        await world.pass()
      }
      await world.assertEnded()
    }),
    { numRuns: rounds({ short: 20, long: 400 }) },
  )
})
