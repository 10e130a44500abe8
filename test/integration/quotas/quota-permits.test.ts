// Goal: quotas hold over all processes, exactly: never more in any minute, nothing refused while there is room, and permits in flight
// come back, also those of a process that dies. Method: quota.lua on a real Redis whose clock the test sets.
import assert from 'node:assert/strict'
import { after, before, beforeEach, test } from 'node:test'
import type { Denial, Permit } from '../../../proxy/quotas/permit.ts'
import type { Pot } from '../../../proxy/quotas/pot.ts'
import type { Quotas } from '../../../proxy/quotas/quotas.ts'
import { limits } from '../../support/limits.ts'
import { codeOf, QuotaWorld, take } from '../../support/parts/quotaWorld.ts'

/** A minute, and what a slice of a second and the way to the provider add. */
const SPAN_MS = 62_000

let world: QuotaWorld
before(async () => {
  world = await QuotaWorld.start()
})
beforeEach(() => world.reset())
after(() => world.stop())

async function permit(quotas: Quotas, pots: readonly Pot[], tokens = 0): Promise<Permit> {
  const answer = await take(quotas, pots, tokens)
  assert.ok(!('code' in answer), codeOf(answer))
  return answer
}

async function denial(quotas: Quotas, pots: readonly Pot[], tokens = 0): Promise<Denial & { readonly name: string }> {
  const answer = await take(quotas, pots, tokens)
  assert.ok('code' in answer, 'it was permitted')
  return { ...answer, name: codeOf(answer) }
}

/** Until Redis knows what has ended. */
const settle = (quotas: Quotas): Promise<void> => quotas.delivered(5_000)

test('two processes share the requests of a minute, and the refusal says when the oldest of them leaves it', async () => {
  const pot = world.pot('a', { requestsPerMinute: 3 })
  const [one, two] = [world.process(), world.process()]
  await permit(one, [pot])
  await world.advance(10_500)
  await permit(two, [pot])
  await permit(one, [pot])
  const { name, waitMs, limit } = await denial(two, [pot])
  assert.deepEqual([name, waitMs, limit], ['REQUESTS', SPAN_MS - 10_500, 3])
  await world.advance(waitMs - 1)
  assert.equal((await denial(one, [pot])).name, 'REQUESTS')
  await world.advance(1)
  await permit(one, [pot])
  assert.equal((await denial(two, [pot])).name, 'REQUESTS')
})

test('tokens count at their worst case until the request ends, and then as they were used', async () => {
  const pot = world.pot('a', { tokensPerMinute: 100 })
  const [one, two] = [world.process(), world.process()]
  const first = await permit(one, [pot], 90)
  assert.equal((await denial(two, [pot], 20)).name, 'TOKENS')
  first.end(30)
  first.end(0)
  await settle(one)
  const second = await permit(two, [pot], 70)
  assert.deepEqual([second.uses[0]?.tokens, second.uses[0]?.requests], [100, 2])
  assert.equal((await denial(one, [pot], 1)).name, 'TOKENS')
  // More than the worst case counts as well.
  second.end(75)
  await settle(two)
  await world.advance(SPAN_MS - 1_000)
  assert.equal((await denial(one, [pot], 100)).name, 'TOKENS')
  await world.advance(1_000)
  await permit(one, [pot], 100)
})

test('a correction after the minute changes nothing', async () => {
  const pot = world.pot('a', { tokensPerMinute: 100 })
  const quotas = world.process()
  const old = await permit(quotas, [pot], 100)
  await world.advance(SPAN_MS)
  await permit(quotas, [pot], 100)
  old.end(0)
  await settle(quotas)
  assert.equal((await denial(quotas, [pot], 1)).name, 'TOKENS')
})

test('a request that is larger than the quota is told so, and takes nothing', async () => {
  const [small, large] = [world.pot('a', { tokensPerMinute: 100 }), world.pot('b', { requestsPerMinute: 1 })]
  const quotas = world.process()
  const { name, limit } = await denial(quotas, [large, small], 101)
  assert.deepEqual([name, limit], ['TOO_LARGE', 100])
  await permit(quotas, [large, small], 100)
})

test('a request takes from all of its pots or from none', async () => {
  const [open, full] = [world.pot('a', { requestsPerMinute: 1 }), world.pot('b', { parallel: 1 })]
  const quotas = world.process()
  const flying = await permit(quotas, [full])
  assert.equal((await denial(quotas, [open, full])).name, 'PARALLEL')
  flying.end(0)
  await settle(quotas)
  await permit(quotas, [open, full])
})

test('requests in flight are limited over processes, and the end of one lets another in', async () => {
  const pot = world.pot('a', { parallel: 2 })
  const [one, two] = [world.process(), world.process()]
  const first = await permit(one, [pot])
  await permit(two, [pot])
  const { name, waitMs } = await denial(two, [pot])
  assert.deepEqual([name, waitMs], ['PARALLEL', 1_000])
  first.end(0)
  await settle(one)
  await permit(two, [pot])
  assert.equal((await denial(one, [pot])).name, 'PARALLEL')
})

test('permits in flight of a process that died come back, and those of one that lives do not', async () => {
  const pot = world.pot('a', { parallel: 2 })
  const [dead, alive, other] = [world.process(), world.process(), world.process()]
  await permit(dead, [pot])
  await permit(alive, [pot])
  await world.advance(limits.quotaHoldMs - 1)
  // Another request of the living process states what it has in flight.
  assert.equal((await denial(alive, [pot])).name, 'PARALLEL')
  await world.advance(1)
  await permit(other, [pot])
  assert.equal((await denial(other, [pot])).name, 'PARALLEL')
})

test('a changed limit holds from the next request on', async () => {
  const quotas = world.process()
  await permit(quotas, [world.pot('a', { requestsPerMinute: 5 })])
  assert.equal((await denial(quotas, [world.pot('a', { requestsPerMinute: 1 })])).name, 'REQUESTS')
  await permit(quotas, [world.pot('a', { requestsPerMinute: 2 })])
})

test('a pot that was not used for two minutes is gone', async () => {
  const pot = world.pot('a', { requestsPerMinute: 5, parallel: 1 })
  await permit(world.process(), [pot])
  const seconds = await world.redis.ttl(pot.key)
  assert.ok(seconds > 110 && seconds <= 120, `${seconds}`)
})
