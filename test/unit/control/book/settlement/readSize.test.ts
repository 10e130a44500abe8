// Goal: reads of the ledger streams are short while little comes and as long as a batch under load.
// Method: streams in memory, read as Redis reads them, by counts for each stream.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ReadSize } from '../../../../../control/book/settlement/readSize.ts'
import { itemOf } from '../../../../support/present.ts'

const FEWEST = 32
const MOST = 3_000

/** Reads as the consumer does: until a read tells that there is no more, or a batch is full. */
function gather(size: ReadSize, streams: number[]): number[] {
  const lengths: number[] = []
  let more = true
  for (let total = 0; more && total < MOST; total += lengths.at(-1) ?? 0) {
    const entries = streams.flatMap((left, shard) => {
      const count = Math.min(left, size.countPerStream)
      streams[shard] = left - count
      return Array.from({ length: count }, (_, i) => ({ raw: { shard, id: `${i}-0`, fields: null }, size: 1 }))
    })
    lengths.push(entries.length)
    more = size.note(entries)
  }
  return lengths
}

test('sparse streams are read in short reads, any number of times', () => {
  const size = new ReadSize(FEWEST, MOST)
  for (let i = 0; i < 5; i++) assert.deepEqual(gather(size, [57]), [4, 8, 16, 29])
})

test('busy streams share the entries of one read', () => {
  const size = new ReadSize(FEWEST, MOST)
  gather(size, Array<number>(16).fill(1))
  const lengths = gather(size, Array<number>(16).fill(4))
  assert.equal(lengths[0], FEWEST)
  assert.equal(
    lengths.reduce((sum, length) => sum + length),
    64,
  )
})

test('a backlog is read in whole batches, for one stream and for all', () => {
  for (const streams of [[100_000], Array<number>(64).fill(2_000)]) {
    const size = new ReadSize(FEWEST, MOST)
    for (let i = 0; i < 5; i++) gather(size, streams)
    const lengths = gather(size, streams)
    assert.equal(lengths.length, 1, `${lengths}`)
    assert.ok(itemOf(lengths, 0) >= MOST && itemOf(lengths, 0) <= 2 * MOST, `${lengths}`)
  }
})

test('one long stream among short ones is read to its end', () => {
  const size = new ReadSize(FEWEST, MOST)
  const streams = [2_900, ...Array<number>(63).fill(1)]
  gather(size, streams)
  assert.deepEqual(
    streams.filter((left) => left > 0),
    [],
  )
})
