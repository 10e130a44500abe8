import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Places } from '../../../../../control/records/receipts/places.ts'

test('concurrent calls never exceed the slots, and those of one caller never its share', async () => {
  const places = new Places(3, 2)
  const ends: (() => void)[] = []
  const take = (caller: string) => places.use(caller, () => new Promise<string>((end) => ends.push(() => end(caller))))
  const taken = [take('a'), take('a'), take('a'), take('b'), take('b')]
  assert.equal(ends.length, 3)
  for (const end of ends.splice(0)) end()
  assert.deepEqual(await Promise.all(taken), ['a', 'a', undefined, 'b', undefined])
  const again = take('a')
  assert.equal(ends.length, 1)
  ends[0]?.()
  assert.equal(await again, 'a')
})

test('a slot is free again after its call failed', async () => {
  const places = new Places(1)
  for (let i = 0; i < 3; i++) {
    await assert.rejects(
      places.use('a', () => Promise.reject(new Error('failed'))),
      /failed/,
    )
  }
  assert.equal(await places.use('a', async () => 'done'), 'done')
})
