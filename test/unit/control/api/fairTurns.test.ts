import assert from 'node:assert/strict'
import test from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { FairTurns } from '../../../../control/api/fairTurns.ts'

const LIMITS = { cpuPercent: 50, waitingMax: 2, namesMax: 10_000, overloadMs: 1 }

/** Turns that are kept busy until `end` is called. */
function busyTurns(limits = LIMITS): { turns: FairTurns; end: () => void } {
  const turns = new FairTurns(limits)
  const ended = new EventTarget()
  const end = (): void => void ended.dispatchEvent(new Event('end'))
  const work = new Promise((resolve) => ended.addEventListener('end', resolve))
  void turns.run('first', () => work)
  return { turns, end }
}

test('the caller with the fewest turns is next, and ties are served in order of arrival', async () => {
  const { turns, end } = busyTurns({ ...LIMITS, waitingMax: 100 })
  const done: string[] = []
  const wait = (name: string) => turns.run(name, async () => void done.push(name))
  const all = ['first', 'a', 'a', 'b', 'a', 'c'].map(wait)
  end()
  await Promise.all(all)
  assert.deepEqual(done.slice(0, 3), ['a', 'b', 'c'])
  assert.deepEqual(done.slice(3).toSorted(), ['a', 'a', 'first'])
})

test('a burst rejects no caller', async () => {
  const { turns, end } = busyTurns({ ...LIMITS, overloadMs: 60_000 })
  const all = Array.from({ length: 50 }, () => turns.run('a', async () => true))
  end()
  assert.deepEqual(await Promise.all(all), Array(50).fill(true))
})

test('under overload the client with the most requests is rejected, and one with a single request is not', async () => {
  const { turns, end } = busyTurns()
  await sleep(5)
  const flood = Array.from({ length: 5 }, () => turns.run('flood', async () => true))
  const other = turns.run('other', async () => true)
  end()
  assert.equal(await other, true)
  assert.deepEqual(await Promise.all(flood), [true, undefined, undefined, undefined, undefined])
})

test('failed work passes its turn on', async () => {
  const turns = new FairTurns(LIMITS)
  const failed = turns.run('a', async () => assert.fail('no'))
  const next = turns.run('b', async () => true)
  await assert.rejects(failed, /no/)
  assert.equal(await next, true)
})

test('work uses no more than its share of the time', async () => {
  const turns = new FairTurns({ ...LIMITS, cpuPercent: 20, overloadMs: 60_000 })
  const startedAtMs = performance.now()
  const workedMs: number[] = []
  const work = async (): Promise<void> => {
    const before = process.cpuUsage()
    const cpuMs = () => process.cpuUsage(before).user / 1_000
    while (cpuMs() < 5);
    workedMs.push(cpuMs())
  }
  await Promise.all(Array.from({ length: 5 }, () => turns.run('a', work)))
  // After the last one nobody rests.
  const beforeLastMs = workedMs.slice(0, -1).reduce((sum, ms) => sum + ms, 0)
  assert.ok(performance.now() - startedAtMs >= beforeLastMs / 0.2 - 5)
})

test('a process that stands still has used nothing', async () => {
  const turns = new FairTurns({ ...LIMITS, cpuPercent: 1, overloadMs: 60_000 })
  const startedAtMs = performance.now()
  const stand = async () => void Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 300)
  await Promise.all([turns.run('a', stand), turns.run('b', async () => true)])
  assert.ok(performance.now() - startedAtMs < 300 * 99)
})
