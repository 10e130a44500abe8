// Goal: the admission protocol as a whole neither loses nor makes a unit, keeps balances and caps exact, and refuses nobody for
// money that lies idle, in any order of requests, endings, deliveries, recalls, reviews, changes of keys, turns of the hour, lost
// calls and answers, kills, and losses of Redis. Method: random schedules for the real leases of several workers over the
// real scripts on a real Redis, whose clock is set by hand; a small model beside them knows what clients were told.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import fc from 'fast-check'
import { connectRedis, type Redis } from '../../../contract/wire/redis.ts'
import { AdmissionModel, FUNDS, KEYS, WORKERS } from '../../support/parts/admissionModel.ts'
import { ClockScripts } from '../../support/parts/clockScripts.ts'
import { rounds } from '../../support/rounds.ts'
import { startTestRedis, type TestServer } from '../../support/services.ts'

/** Schedules that run concurrently, each in a shard of its own. */
const LANES = 16
const RUNS = rounds({ short: 320, long: 100_000 })

let server: TestServer
let redis: Redis
let scripts: ClockScripts
before(async () => {
  server = await startTestRedis()
  redis = connectRedis(server.url, 'wait')
  scripts = new ClockScripts(redis)
})
after(async () => {
  redis.disconnect()
  await server.stop()
})

const worker = fc.nat(WORKERS - 1)
const key = fc.nat(KEYS - 1)
const units = fc.oneof(
  { weight: 5, arbitrary: fc.integer({ min: 1, max: 6 }) },
  { weight: 2, arbitrary: fc.integer({ min: 1, max: 8_000 }) },
  { weight: 2, arbitrary: fc.integer({ min: 10_000, max: FUNDS }) },
)
const plain = <Kind extends string>(kind: Kind) => fc.record({ kind: fc.constant(kind) })

const step = fc.oneof(
  { weight: 10, arbitrary: fc.record({ kind: fc.constant('take' as const), worker, key, units }) },
  {
    weight: 10,
    arbitrary: fc.record({ kind: fc.constant('end' as const), place: fc.nat(99), percent: fc.nat(100) }),
  },
  { weight: 3, arbitrary: plain('tick' as const) },
  { weight: 3, arbitrary: plain('review' as const) },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('pass' as const),
      ms: fc.constantFrom(60, 300, 1_100, 5_000, 300_000, 1_800_000, 3_600_000),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('change' as const),
      key,
      units: fc.integer({ min: 0, max: 30_000 }),
      isTold: fc.boolean(),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('lose' as const),
      worker,
      part: fc.constantFrom('call' as const, 'answer' as const, 'late' as const),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('kill' as const), worker }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('loss' as const), isBooked: fc.boolean() }) },
)
type Step = typeof step extends fc.Arbitrary<infer Value> ? Value : never
/** Some steps follow the one before while it is still under way. */
const schedule = fc.array(fc.record({ step, isQuick: fc.boolean() }), { minLength: 4, maxLength: 16 })

const take = (worker: number, key: number, units: number): Step => ({ kind: 'take', worker, key, units })
const pass = (ms: 1_100 | 3_600_000): Step => ({ kind: 'pass', ms })
/** The lease of a key rests in the first worker: 3 of its units are charged. */
const resting = (key: number): Step[] => [
  take(0, key, 6),
  { kind: 'end', place: 0, percent: 50 },
  { kind: 'review' },
  pass(1_100),
  { kind: 'review' },
]
/** Of each kind of trouble one schedule that is always run. */
const EXAMPLES: Step[][] = [
  [...resting(0), take(1, 0, FUNDS - 3)],
  [...resting(1), take(1, 1, 19_997)],
  [...resting(1), pass(3_600_000), take(0, 1, 6)],
  ...[true, false].map((isTold): Step[] => [
    ...resting(1),
    { kind: 'change', key: 1, units: 5, isTold },
    take(0, 1, 6),
  ]),
  [...resting(0), { kind: 'kill', worker: 0 }, take(1, 0, FUNDS - 3)],
  ...[true, false].map((isBooked): Step[] => [...resting(0), { kind: 'loss', isBooked }, take(1, 0, FUNDS - 3)]),
  ...(['call', 'answer', 'late'] as const).map((part): Step[] => [
    { kind: 'lose', worker: 0, part },
    ...resting(0),
    take(1, 0, 40_000),
  ]),
  [take(0, 0, 40_000), pass(3_600_000), { kind: 'review' }, { kind: 'end', place: 0, percent: 0 }, take(0, 0, 20_000)],
  [take(0, 0, 1), { kind: 'lose', worker: 0, part: 'late' }, take(0, 0, 40_000)],
  [
    take(0, 0, 6),
    { kind: 'lose', worker: 0, part: 'answer' },
    { kind: 'end', place: 0, percent: 50 },
    { kind: 'tick' },
    { kind: 'kill', worker: 0 },
  ],
]

async function run(model: AdmissionModel, one: Step): Promise<void> {
  switch (one.kind) {
    case 'take':
      return model.take(one.worker, one.key, one.units)
    case 'end':
      return model.end(one.place, one.percent / 100)
    case 'tick':
      return model.tick()
    case 'review':
      return model.review()
    case 'pass':
      return model.pass(one.ms)
    case 'change':
      return model.change(one.key, one.units, one.isTold)
    case 'lose':
      return model.lose(one.worker, one.part)
    case 'kill':
      return model.kill(one.worker)
    case 'loss':
      return model.lossOfRedis(one.isBooked)
  }
}

test('in any schedule every unit is accounted for, caps hold, and nobody is refused idle money', async () => {
  const seed = Number(process.env['SLUICE_MODEL_SEED'] ?? Math.floor(Math.random() * 2 ** 30))
  const startedMs = performance.now()
  const lane = (shard: number): Promise<void> =>
    fc.assert(
      fc.asyncProperty(schedule, async (steps) => {
        const model = await AdmissionModel.start(redis, scripts, shard)
        for (const { step: one, isQuick } of steps) {
          await run(model, one)
          if (isQuick) continue
          await model.quiet()
          await model.check()
        }
        await model.finish()
      }),
      {
        examples:
          shard > 0 ? [] : EXAMPLES.map((steps) => [steps.map((one) => ({ step: one, isQuick: one.kind === 'tick' }))]),
        numRuns: RUNS / LANES + (shard > 0 ? 0 : EXAMPLES.length),
        seed: seed + shard,
        includeErrorInReport: true,
      },
    )
  await Promise.all(Array.from({ length: LANES }, (_, shard) => lane(shard)))
  console.log(`# ${RUNS} schedules from seed ${seed} in ${Math.round(performance.now() - startedMs)} ms`)
})

test('a key that calls every five seconds for a minute costs one call for its leases', async () => {
  const model = await AdmissionModel.start(redis, scripts, LANES)
  for (let i = 0; i < 12; i++) {
    model.take(0, 0, 6)
    await model.quiet()
    model.end(0, 0.3)
    model.tick()
    await model.quiet()
    await model.check()
    for (let waited = 0; waited < 5_000; waited += 250) {
      await model.pass(250)
      model.review()
    }
    await model.quiet()
  }
  assert.equal(model.leaseCalls, 1)
  await model.finish()
})
