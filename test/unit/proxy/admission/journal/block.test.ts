import assert from 'node:assert/strict'
import { test } from 'node:test'
import { crc32 } from 'node:zlib'
import fc from 'fast-check'
import { BlockWriter, type ReadBlocks, readBlocks as readWith } from '../../../../../proxy/admission/journal/block.ts'
import { journalKeys, sealingKey } from '../../../../../proxy/admission/journal/journalKeys.ts'

const OWNER = 'own_01M88Q00000000000000000001'
const BUS_KEYS = [Buffer.alloc(32, 1), Buffer.alloc(32, 2)]
const KEY = sealingKey(BUS_KEYS, OWNER)
const readBlocks = (file: Buffer): ReadBlocks => readWith(file, [KEY])

const bytes = (): fc.Arbitrary<string> =>
  fc.uint8Array({ maxLength: 300 }).map((array) => Buffer.from(array).toString('latin1'))

function written(turns: readonly (readonly string[])[], key = KEY): Buffer[] {
  const writer = new BlockWriter(1, key)
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

test('each bus key verifies what it sealed, for the owner of the journal alone', () => {
  const [file] = written([['charge']], journalKeys(BUS_KEYS, OWNER)[1])
  const rotated = readWith(present(file), journalKeys(BUS_KEYS, OWNER))
  assert.deepEqual([rotated.records, rotated.isForeign], [['charge'], false])
  const others = [
    journalKeys(BUS_KEYS.slice(0, 1), OWNER),
    journalKeys([Buffer.alloc(32, 3)], OWNER),
    journalKeys(BUS_KEYS, OWNER.replace(/1$/, '2')),
    [],
  ]
  for (const keys of others) {
    const read = readWith(present(file), keys)
    assert.deepEqual([read.records, read.isForeign], [[], true])
  }
})

test('a first block that was changed anywhere is foreign or torn, and never read', () => {
  const file = present(written([['first', 'second']])[0])
  for (let at = 0; at < file.length; at++) {
    const changed = Buffer.from(file)
    changed[at] = (changed[at] ?? 0) ^ 0x01
    assert.deepEqual(readBlocks(changed).records, [], `byte ${at}`)
  }
  const changed = Buffer.from(file)
  changed[20] = (changed[20] ?? 0) ^ 0x01
  assert.equal(readBlocks(changed).isForeign, true)
})

test('a block that was made longer is not read, as its length was hashed before its body', () => {
  const file = present(written([['first']])[0])
  const longer = Buffer.concat([file, Buffer.alloc(64)])
  longer.writeUInt32LE(longer.length - 28, 4)
  const read = readBlocks(longer)
  assert.deepEqual([read.records, read.isForeign], [[], true])
})

test('a file of the format with a checksum is foreign', () => {
  const body = Buffer.concat([Buffer.from([5, 0, 0, 0]), Buffer.from('first')])
  const header = Buffer.alloc(12)
  header.writeUInt32LE(body.length, 0)
  header.writeUInt32LE(crc32(body), 4)
  header.writeUInt32LE(1, 8)
  const read = readBlocks(Buffer.concat([header, body]))
  assert.deepEqual([read.records, read.isForeign], [[], true])
})

test('a first block of which a part was written, and zeros, are torn', () => {
  const file = present(written([['first']])[0])
  const parts = [file.subarray(0, 3), file.subarray(0, 13), file.subarray(0, file.length - 1), Buffer.alloc(200)]
  for (const part of parts) {
    const read = readBlocks(part)
    assert.deepEqual([read.isTorn, read.isForeign], [true, false], `${part.length} bytes`)
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
