import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import fc from 'fast-check'
import { capacityText } from '../../../../control/cli/capacity.ts'
import { CAPACITY_FIGURES } from '../../../../control/cli/capacityFigures.ts'
import { type CapacityDemand, type CapacityFigures, planCapacity } from '../../../../control/cli/capacityPlan.ts'
import { projectRoot } from '../../../../control/launch/paths.ts'

/** Costs by which the sums can be done in the head. */
const FIGURES: CapacityFigures = {
  at: '2027-01-31',
  cpu: 'abacus',
  requestMicros: {
    hot: { proxy: 80, redis: 10, control: 40, postgres: 20 },
    cold: { proxy: 400, redis: 100, control: 400, postgres: 200 },
  },
  chunkMicros: 20,
  workerStreamsMax: 2_000,
  workerBytes: 400_000_000,
  walBytesPerReceipt: 1_000,
}
const DEMAND: CapacityDemand = { requests: 1_000, streams: 0, chunks: 40, keys: 'hot', accounts: 1_000 }
const plan = (changes: Partial<CapacityDemand>) => planCapacity({ ...DEMAND, ...changes }, FIGURES)

test('cores are the CPU time of the demand, four fifths busy', () => {
  const { workers, redisCores, controlCores, postgresCores, books } = plan({ requests: 160_000 })
  assert.deepEqual(
    { workers, redisCores, controlCores, postgresCores, books },
    { workers: 16, redisCores: 2, controlCores: 8, postgresCores: 4, books: 1 },
  )
  assert.equal(plan({ requests: 160_001 }).books, 2)
  assert.equal(plan({ requests: 1_000, keys: 'cold' }).workers, 1)
  assert.equal(plan({ requests: 16_001, keys: 'cold' }).books, 2)
})

test('streams take workers by their chunks, and by their number where they are slow', () => {
  assert.equal(plan({ requests: 0, streams: 1_000 }).workers, 1)
  assert.equal(plan({ requests: 0, streams: 1_001 }).workers, 2)
  assert.equal(plan({ requests: 0, streams: 4_001, chunks: 1 }).workers, 3)
  assert.equal(plan({ requests: 10_000, streams: 1_000 }).workers, 2)
})

test('no plan shrinks when the demand grows, and every part has a core', () => {
  const demand = fc.record({
    requests: fc.integer({ min: 0, max: 1_000_000 }),
    streams: fc.integer({ min: 0, max: 1_000_000 }),
    chunks: fc.integer({ min: 0, max: 100 }),
    keys: fc.constantFrom('hot' as const, 'cold' as const),
    accounts: fc.integer({ min: 0, max: 1_000_000 }),
  })
  fc.assert(
    fc.property(demand, fc.integer({ min: 0, max: 100_000 }), (small, more) => {
      const before = planCapacity(small, FIGURES)
      const large = {
        ...small,
        requests: small.requests + more,
        streams: small.streams + more,
        accounts: small.accounts + more,
      }
      const after = planCapacity(large, FIGURES)
      for (const [name, value] of Object.entries(before)) {
        if (typeof value !== 'number') continue
        assert.ok(Number(after[name as keyof typeof after]) >= value, name)
      }
      for (const cores of [before.workers, before.redisCores, before.controlCores, before.postgresCores])
        assert.ok(cores >= 1)
    }),
  )
})

test('the text names the process that ends an installation, and into how many the accounts are divided', () => {
  const text = capacityText(plan({ requests: 400_000, streams: 100_000 }), FIGURES)
  assert.match(text, /^proxies +140 workers with a core each, 56 GB of memory/m)
  assert.match(
    text,
    /^bound +PostgreSQL ends one installation at 160,000 requests a second: divide the accounts among 3 installations$/m,
  )
  assert.doesNotMatch(capacityText(plan({}), FIGURES), /divide/)
})

test('the figures are those of the report of the last benchmark', () => {
  const report = readFileSync(join(projectRoot, 'bench/REPORT.md'), 'utf8')
  const ends = [...report.matchAll(/PostgreSQL ends the installation, at ([\d,]+) requests a second/g)]
  for (const [at, keys] of (['hot', 'cold'] as const).entries()) {
    const { bookRequestsMax, bound } = planCapacity({ ...DEMAND, keys }, CAPACITY_FIGURES)
    assert.equal(bound, 'postgres')
    // Both are rounded, and the plan's figures are, too.
    assert.ok(Math.abs(Number(ends[at]?.[1]?.replaceAll(',', '')) - bookRequestsMax) <= 1, keys)
  }
  assert.ok(report.includes(`from the run of ${CAPACITY_FIGURES.at}`))
})
