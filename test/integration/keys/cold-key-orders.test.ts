// Goal: whatever the order of changes, announcements, reads, answers and losses of Redis, no proxy uses a record that is older than the
// last change it was told of, nor reads one that is older than the last change whose record was dropped. Method: random orders of
// single steps over the real caches and scripts; the book is a version, and what control read waits until the test lets it go on.
import { after, before, test } from 'node:test'
import fc from 'fast-check'
import { KeyOrders, STEPS, type Step } from '../../support/parts/keyOrders.ts'
import { rounds } from '../../support/rounds.ts'
import { startTestRedis, type TestServer } from '../../support/services.ts'

let server: TestServer

before(async () => {
  server = await startTestRedis()
})
after(() => server.stop())

/** Orders that have gone wrong in caches of this kind. */
const EXAMPLES: readonly (readonly Step[])[] = [
  // A reader that keeps what it read before the change, after the record was dropped.
  ['find 0', 'read 0', 'change', 'drop', 'answer 0', 'find 1', 'publish', 'event 0', 'find 0'],
  // The same with another reader's claim in between.
  ['find 0', 'read 0', 'change', 'drop', 'publish', 'find 1', 'answer 0', 'read 1', 'answer 1', 'event 1', 'find 1'],
  // A claim that ended, and was taken by somebody else.
  [
    'find 0',
    'read 0',
    'expire claim',
    'change',
    'find 1',
    'read 1',
    'answer 0',
    'answer 1',
    'drop',
    'publish',
    'event 0',
    'find 0',
  ],
  // A record, and a claim, that come back with an older state of Redis.
  [
    'find 0',
    'read 0',
    'answer 0',
    'note older state',
    'change',
    'drop',
    'publish',
    'go back in time',
    'find 1',
    'read 1',
    'answer 1',
    'open',
    'event 0',
    'find 0',
  ],
  [
    'find 0',
    'read 0',
    'note older state',
    'change',
    'drop',
    'publish',
    'go back in time',
    'open',
    'answer 0',
    'find 1',
    'event 0',
    'find 0',
  ],
  // Redis is emptied under a reader.
  ['find 0', 'read 0', 'change', 'empty', 'answer 0', 'open', 'find 1', 'read 1', 'answer 1', 'event 0', 'find 0'],
  // A control that ends between the commit and the announcement.
  ['find 0', 'read 0', 'answer 0', 'change', 'silence', 'find 1', 'read 1', 'answer 1', 'hear', 'find 1'],
  // An answer on its way while the event arrives.
  ['find 0', 'read 0', 'change', 'drop', 'publish', 'event 0', 'answer 0', 'find 0', 'read 0', 'answer 0'],
]

test('no order of steps shows a record that is older than an announced change', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.constantFrom(...STEPS), { maxLength: 60 }), async (steps) => {
      const orders = await KeyOrders.start(server.url)
      try {
        for (const step of steps) await orders.step(step)
        await orders.assertSettled()
      } finally {
        orders.stop()
      }
    }),
    { numRuns: rounds({ short: 150, long: 5_000 }), examples: EXAMPLES.map((steps) => [[...steps]]) },
  )
})
