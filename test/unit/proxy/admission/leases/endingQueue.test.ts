import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { LeasedEnding } from '../../../../../proxy/admission/leases/batch.ts'
import { EndingQueue } from '../../../../../proxy/admission/leases/endingQueue.ts'
import type { LeaseContext } from '../../../../../proxy/admission/leases/leaseContext.ts'
import { EndedHold } from '../../../../../proxy/admission/leases/openHold.ts'
import { NO_PARTS } from '../../../../../proxy/admission/leases/parts.ts'
import { limitsWith } from '../../../../support/limits.ts'
import { itemOf } from '../../../../support/present.ts'

const lease = { shard: 1, accountId: 'acc', keys: 'key', keyId: 'key', hour: 5, field: 'L:key:5' }

function ending(seq: number): LeasedEnding {
  const rest = { voided: false, heldAtMs: 1, charged: NO_PARTS, split: '', settlement: '' }
  return { lease, requestId: `req_${seq}`, seq, ...rest }
}

/** A queue whose journal has these endings. */
function newQueue(journal: readonly number[]): { queue: EndingQueue; faults: unknown[] } {
  const faults: unknown[] = []
  const context: Pick<LeaseContext, 'limits' | 'journaled' | 'onFault'> = {
    limits: limitsWith({ settleTimeoutMs: 20 }),
    journaled: async (_shard, after, last) => journal.filter((seq) => seq > after && seq <= last).map(ending),
    onFault: (error) => void faults.push(error),
  }
  return { queue: new EndingQueue(context), faults }
}

function fill(queue: EndingQueue, count: number): void {
  for (let i = 0; i < count; i++) queue.add(ending(queue.nextSeq))
}

const numbers = (queue: EndingQueue): number[] => queue.all.map(({ seq }) => seq)

test('numbers are consecutive, independent of deliveries', () => {
  const { queue } = newQueue([])
  fill(queue, 3)
  queue.delivered(2)
  fill(queue, 2)
  assert.deepEqual(numbers(queue), [3, 4, 5])
  queue.trim(4)
  queue.trim(3)
  assert.deepEqual(numbers(queue), [5])
  assert.equal(queue.nextSeq, 6)
})

test('endings delivered but not booked are delivered again from the journal', async () => {
  const { queue, faults } = newQueue([1, 2, 3, 4])
  fill(queue, 5)
  queue.delivered(4)
  await queue.goBackTo(1, 1)
  assert.deepEqual(numbers(queue), [2, 3, 4, 5])
  assert.equal(queue.lastDelivered, 1)
  fill(queue, 1)
  assert.deepEqual(numbers(queue).at(-1), 6)
  assert.deepEqual(faults, [])
})

test('a booked position ahead of the response of Redis is accepted', async () => {
  const { queue } = newQueue([])
  fill(queue, 3)
  await queue.goBackTo(2, 1)
  assert.deepEqual(numbers(queue), [3])
})

test('numbers lost from the journal are not reused, and an operator is warned', async () => {
  const { queue, faults } = newQueue([3])
  fill(queue, 4)
  queue.delivered(3)
  await queue.goBackTo(1, 1)
  assert.equal(queue.lastDelivered, 3)
  assert.deepEqual(numbers(queue), [4])
  assert.equal(queue.nextSeq, 5)
  assert.equal(faults.length, 1)
})

test('a caller that begins to wait for an ending already in Redis is notified immediately', () => {
  const { queue } = newQueue([])
  const told: number[] = []
  const waiter = { onSettled: (units: number) => void told.push(units), onSettleDelayed() {}, onCrashed() {} }
  fill(queue, 1)
  const ended = new EndedHold(itemOf(queue.all, 0), 7, waiter, () => {})
  queue.delivered(1)
  queue.waitForRedis(ended)
  assert.deepEqual(told, [7])
})

test('a caller waiting for Redis is notified when the ending is stored, or when it is delayed', async () => {
  const { queue } = newQueue([])
  const told: string[] = []
  const waiter = (name: string) => ({
    onSettled: (units: number) => void told.push(`${name} ${units}`),
    onSettleDelayed: () => void told.push(`${name} late`),
    onCrashed: (error: unknown) => {
      throw error
    },
  })
  fill(queue, 2)
  for (const [i, one] of queue.all.entries())
    queue.waitForRedis(new EndedHold(one, 7, waiter(`req_${i + 1}`), () => {}))
  queue.delivered(1)
  assert.deepEqual(told, ['req_1 7'])
  await new Promise((resolve) => setTimeout(resolve, 50))
  assert.deepEqual(told, ['req_1 7', 'req_2 late'])
})

test('an ending of a single hold is urgent until it is delivered', () => {
  const { queue } = newQueue([])
  fill(queue, 1)
  assert.ok(!queue.isUrgent)
  queue.add({ ...ending(queue.nextSeq), lease: { ...lease, field: 'L:req_2:5' } })
  fill(queue, 1)
  assert.ok(queue.isUrgent)
  queue.delivered(1)
  assert.ok(queue.isUrgent)
  queue.delivered(1)
  assert.ok(!queue.isUrgent)
})
