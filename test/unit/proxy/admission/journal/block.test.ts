import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { BlockWriter, readBlocks } from '../../../../../proxy/admission/journal/block.ts'

const bytes = (): fc.Arbitrary<string> =>
  fc.uint8Array({ maxLength: 300 }).map((array) => Buffer.from(array).toString('latin1'))

function written(turns: readonly (readonly string[])[]): Buffer[] {
  const writer = new BlockWriter(1)
  return turns.map((records) => {
    for (const record of records) writer.add(record)
    return Buffer.from(writer.seal())
  })
}

test('all written records are read back, turn by turn', () => {
  fc.assert(
    fc.property(fc.array(fc.array(bytes(), { minLength: 1, maxLength: 5 }), { maxLength: 6 }), (turns) => {
      const read = readBlocks(Buffer.concat(written(turns)))
      assert.deepEqual(read.records, turns.flat())
      assert.equal(read.isTorn, false)
      assert.equal(read.lastNumber, turns.length === 0 ? undefined : turns.length)
    }),
  )
})

test('a file truncated anywhere returns only its whole blocks', () => {
  const blocks = written([['first', 'second'], ['third'], ['fourth \xff\x00']])
  const file = Buffer.concat(blocks)
  const ends = [0]
  for (const block of blocks) ends.push((ends.at(-1) ?? 0) + block.length)
  for (let length = 0; length <= file.length; length++) {
    const whole = ends.filter((end) => end <= length).length - 1
    const read = readBlocks(file.subarray(0, length))
    assert.deepEqual(read.records, [['first', 'second'], ['third'], ['fourth \xff\x00']].slice(0, whole).flat())
    assert.equal(read.isTorn, !ends.includes(length), `at ${length}`)
  }
})

test('reading ends before a block with a changed byte', () => {
  const blocks = written([['first'], ['second'], ['third']])
  const file = Buffer.concat(blocks)
  const start = present(blocks[0]).length
  for (let at = start; at < start + present(blocks[1]).length; at++) {
    const broken = Buffer.from(file)
    broken[at] = (broken[at] ?? 0) ^ 0x40
    assert.deepEqual(readBlocks(broken).records, ['first'], `byte ${at}`)
  }
})

test('a block out of sequence is not read', () => {
  const [first, , third] = written([['first'], ['second'], ['third']])
  assert.deepEqual(readBlocks(Buffer.concat([present(first), present(third)])).records, ['first'])
})

test('a turn larger than the buffer is one block', () => {
  const records = Array.from({ length: 40 }, (_, i) => String(i).repeat(9_000))
  const [block] = written([records])
  assert.deepEqual(readBlocks(present(block)).records, records)
})

function present(block: Buffer | undefined): Buffer {
  assert.ok(block !== undefined)
  return block
}
