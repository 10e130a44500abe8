import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type TurnReader, TurnReads } from '../../../../../../proxy/upstream/h1/wire/turnReads.ts'

/** Notes down what it is handed. */
function reader(name: string, heard: string[]): TurnReader {
  return { onTurn: (bytes) => heard.push(`${name}:${bytes.toString('latin1')}`) }
}

function read(reads: TurnReads, by: TurnReader, text: string): void {
  reads.record.write(text, 'latin1')
  reads.add(by, text.length)
}

const endOfTurn = () => new Promise((resolve) => setImmediate(resolve))

test('records of one turn are delivered in one piece at its end, separately and in order for two readers', async () => {
  const [reads, heard] = [new TurnReads(), [] as string[]]
  const [a, b] = [reader('a', heard), reader('b', heard)]
  for (const text of ['1', '22', '333']) read(reads, a, text)
  assert.deepEqual(heard, [])
  read(reads, b, '4')
  read(reads, a, '5')
  assert.deepEqual(heard, ['a:122333', 'b:4'])
  await endOfTurn()
  assert.deepEqual(heard, ['a:122333', 'b:4', 'a:5'])
  read(reads, b, '6')
  await endOfTurn()
  assert.equal(heard.at(-1), 'b:6')
})

test('data beyond the buffer is delivered in several pieces', async () => {
  const [reads, lengths] = [new TurnReads(), [] as number[]]
  const big: TurnReader = { onTurn: (bytes) => lengths.push(bytes.length) }
  const record = 'x'.repeat(reads.record.length)
  for (let i = 0; i < 9; i++) read(reads, big, record)
  await endOfTurn()
  assert.deepEqual(lengths, [65_536, 65_536, 16_384])
})

test('pending data of a reader is delivered before its end, or dropped, without affecting another reader', async () => {
  const [reads, heard] = [new TurnReads(), [] as string[]]
  const [a, b] = [reader('a', heard), reader('b', heard)]
  read(reads, a, '1')
  reads.finish(b)
  reads.drop(b)
  assert.deepEqual(heard, [])
  reads.finish(a)
  assert.deepEqual(heard, ['a:1'])
  read(reads, a, '2')
  reads.drop(a)
  await endOfTurn()
  assert.deepEqual(heard, ['a:1'])
})
