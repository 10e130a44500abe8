import assert from 'node:assert/strict'
import { test } from 'node:test'
import { generateNoteKey, NoteKey } from '../../../../../control/book/checkpoint/noteKey.ts'
import { type NoteParts, splitNote } from '../../../../../control/book/checkpoint/noteParts.ts'
import { WitnessKey } from '../../../../../control/book/checkpoint/witnessKey.ts'
import { present } from '../../../../support/present.ts'
import { TestWitness } from '../../../../support/testWitness.ts'

const LOG = NoteKey.of(generateNoteKey('example.com/behind-the-sofa'))
const NOTE = LOG.sign('example.com/behind-the-sofa\n20852163\nCsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=\n')
const AT = 1_679_315_147
const witness = new TestWitness('witness.example.com/w1')
const key = WitnessKey.of(witness.verifier)
const parts = (note: string): NoteParts => present(splitNote(note))

test('the cosignature of the specification has the parts that it lists', () => {
  const line =
    '\u2014 witness.example.com/w1 jWbPPwAAAABkGFDLEZMHwSRaJNiIDoe9DYn/zXcrtPHeolMI5OWXEhZCB9dlrDJsX3b2oyin1nPZqhf5nNo0xUe+mbIUBkBIfZ+qnA==\n'
  const [, signature] = parts(NOTE + line).signatures
  assert.equal(signature?.name, 'witness.example.com/w1')
  assert.equal(signature?.bytes.length, 4 + 8 + 64)
  assert.equal(signature?.bytes.readBigUInt64BE(4), BigInt(AT))
  // It is of another key than this test has.
  assert.equal(key.read(parts(NOTE + line)), 'none')
})

test('the time of a witness is that of its latest cosignature', () => {
  const lines = [AT, AT + 5, AT + 1].map((at) => witness.line(NOTE, at))
  const read = key.read(parts(NOTE + lines.join('')))
  assert.deepEqual(read, { witness: witness.verifier, atSeconds: AT + 5, line: lines[1] })
})

test('a missing cosignature is distinguished from an invalid one', () => {
  assert.equal(key.read(parts(NOTE)), 'none')
  assert.equal(key.read(parts(NOTE + new TestWitness(witness.name).line(NOTE, AT))), 'none')
  const other = LOG.sign('example.com/behind-the-sofa\n20852164\nCsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=\n')
  assert.equal(key.read(parts(NOTE + witness.line(other, AT))), 'wrong')
  const line = witness.line(NOTE, AT)
  const start = line.lastIndexOf(' ') + 1
  const bytes = Buffer.from(line.slice(start), 'base64')
  for (let at = 4; at < bytes.length; at++) {
    const changed = Buffer.from(bytes)
    changed[at] = (changed[at] ?? 0) ^ 1
    const read = key.read(parts(`${NOTE}${line.slice(0, start)}${changed.toString('base64')}\n`))
    assert.equal(read, 'wrong', `byte ${at}`)
  }
  const short = `${line.slice(0, start)}${bytes.subarray(0, -1).toString('base64')}\n`
  assert.equal(key.read(parts(NOTE + short)), 'wrong')
})

test('keys that are not witness keys are rejected', () => {
  const [name = '', id = '', encoded = ''] = witness.verifier.split(/\+(.{8})\+/)
  const wrong = ['', 'x', LOG.verifier(), `other+${id}+${encoded}`, `${name}+00000000+${encoded}`, `${name}+${id}`]
  for (const text of wrong) assert.throws(() => WitnessKey.of(text), /no Ed25519 key of a witness/, text)
})

test('text that is not a note is not parsed', () => {
  for (const text of ['', '\n\n', NOTE.slice(0, -1), `${NOTE}x\n`, `${NOTE}\u2014 a\n`, `${NOTE}\u2014 a b\n`, 'a\n']) {
    assert.equal(splitNote(text), undefined, JSON.stringify(text))
  }
})
