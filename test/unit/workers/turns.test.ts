// Goal: places are taken by names in turn, so that a name with much work delays and refuses its own. Method: names that wait for
// few places, and random schedules in which no name waits for more starts than there are names.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { Turns } from '../../../workers/turns.ts'

/** Takes a place and notes when it is had, or refused. */
async function take(turns: Turns, name: string, notes: string[], signal = new AbortController().signal): Promise<void> {
  notes.push((await turns.take(name, signal)) ? name : `${name} refused`)
}

async function settled(): Promise<void> {
  for (let i = 0; i < 5; i++) await Promise.resolve()
}

async function started(turns: Turns, notes: string[]): Promise<string | undefined> {
  turns.giveBack()
  await settled()
  return notes.at(-1)
}

test('names take turns, and those of one name are first in, first out', async () => {
  const turns = new Turns(1, 10)
  const notes: string[] = []
  for (const name of ['a 1', 'a 2', 'a 3', 'b 1', 'b 2', 'c 1']) {
    void turns.take(name.slice(0, 1), AbortSignal.timeout(60_000)).then(() => notes.push(name))
  }
  await settled()
  for (let i = 0; i < 5; i++) await started(turns, notes)
  assert.deepEqual(notes, ['a 1', 'a 2', 'b 1', 'c 1', 'a 3', 'b 2'])
})

test('where too many wait, the newest of the name with the most is refused', async () => {
  const turns = new Turns(1, 3)
  const notes: string[] = []
  for (const name of ['a', 'a', 'a', 'a', 'b', 'b']) void take(turns, name, notes)
  await settled()
  assert.deepEqual(notes, ['a', 'a refused', 'b refused'])
  assert.deepEqual([await started(turns, notes), await started(turns, notes)], ['a', 'b'])
})

test('one that is not wanted any more leaves the line', async () => {
  const turns = new Turns(1, 2)
  const notes: string[] = []
  const left = new AbortController()
  void take(turns, 'a', notes)
  void take(turns, 'b', notes, left.signal)
  void take(turns, 'c', notes)
  left.abort()
  void take(turns, 'd', notes)
  await settled()
  assert.deepEqual(notes, ['a', 'b refused'])
  assert.deepEqual([await started(turns, notes), await started(turns, notes)], ['c', 'd'])
  left.abort()
  // Two places were given back by those who had them, and the third is that of the last.
  turns.giveBack()
  await take(turns, 'e', notes)
  assert.equal(notes.at(-1), 'e')
})

test('in any schedule no place is lost and no name waits for more starts than there are names', async () => {
  const names = ['a', 'b', 'c', 'd']
  const command = fc.oneof(
    { weight: 3, arbitrary: fc.constantFrom(...names).map((name) => ({ kind: 'take' as const, name })) },
    { weight: 2, arbitrary: fc.constant({ kind: 'giveBack' as const, name: '' }) },
    { weight: 1, arbitrary: fc.constantFrom(...names).map((name) => ({ kind: 'leave' as const, name })) },
  )
  const schedule = fc.tuple(
    fc.integer({ min: 1, max: 3 }),
    fc.integer({ min: 0, max: 6 }),
    fc.array(command, { maxLength: 80 }),
  )
  await fc.assert(
    fc.asyncProperty(schedule, async ([places, waitingMax, commands]) => {
      const turns = new Turns(places, waitingMax)
      const waiting: { readonly name: string; readonly leave: AbortController; passed: number }[] = []
      let held = 0
      const had = (one: (typeof waiting)[number], placed: boolean): void => {
        waiting.splice(waiting.indexOf(one), 1)
        if (!placed) return
        held++
        const behind = new Set(waiting.filter(({ name }) => name !== one.name).map(({ name }) => name))
        for (const name of behind)
          for (const other of waiting.filter((o) => o.name === name).slice(0, 1)) other.passed++
      }
      const ask = (name: string): void => {
        const one = { name, leave: new AbortController(), passed: 0 }
        waiting.push(one)
        void turns.take(name, one.leave.signal).then((placed) => had(one, placed))
      }
      for (const { kind, name } of commands) {
        if (kind === 'take') ask(name)
        else if (kind === 'leave') waiting.find((one) => one.name === name)?.leave.abort()
        else if (held > 0) {
          held--
          turns.giveBack()
        }
        await settled()
        assert.ok(held <= places && waiting.length <= waitingMax, `${held} held, ${waiting.length} waiting`)
        assert.ok(held === places || waiting.length === 0, 'a place is free and somebody waits')
        // The first of a name is passed at most once by each other name.
        for (const { passed } of waiting) assert.ok(passed < names.length, `passed ${passed} times`)
      }
    }),
  )
})
