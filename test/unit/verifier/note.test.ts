import assert from 'node:assert/strict'
import test from 'node:test'
import { generateNoteKey, NoteKey } from '../../../control/book/checkpoint/noteKey.ts'
import { checkCosignature, checkSignature, readCheckpoint, readKey } from '../../../verifier/note.ts'
import { TestWitness } from '../../support/testWitness.ts'

const NAME = 'gateway.example.com/v1/log'
const KEY = NoteKey.of(generateNoteKey(NAME))
const ROOT = Buffer.alloc(32, 7)
const TEXT = `${NAME}\n12\n${ROOT.toString('base64')}\n`
const NOTE = KEY.sign(TEXT)

const check = (note: string, key = KEY.verifier()): Promise<void> => checkSignature(note, readKey(key))

test('a checkpoint is read and its signature checked, also with the lines of witnesses below it', async () => {
  const cosigned = NOTE + new TestWitness('witness.example.com').line(NOTE)
  for (const note of [NOTE, cosigned]) {
    assert.deepEqual(readCheckpoint(note), { origin: NAME, size: 12, root: Uint8Array.from(ROOT) })
    await check(note)
  }
})

test('no byte of a signed checkpoint can be changed', async () => {
  for (let at = 0; at < NOTE.length; at++) {
    for (const character of ['A', 'b', '1', '\n', '=', '+']) {
      if (NOTE[at] === character) continue
      await assert.rejects(check(NOTE.slice(0, at) + character + NOTE.slice(at + 1)), `${at}: ${character}`)
    }
  }
})

test('signatures of other keys, and checkpoints of other logs, are rejected with the reason', async () => {
  const other = NoteKey.of(generateNoteKey(NAME))
  await assert.rejects(check(NOTE, other.verifier()), /has not signed/)
  await assert.rejects(check(NOTE, KEY.named('other.example.com').verifier()), /other\.example\.com has not signed/)
  await assert.rejects(check(KEY.sign(`elsewhere${TEXT}`)), /is not one of gateway/)
  const wrong = `${NOTE}${NOTE.slice(NOTE.indexOf('\n\n') + 2).replace(/[^=]{8}(=*)\n$/, 'AAAAAAAA$1\n')}`
  await assert.rejects(check(wrong), /signature .* is wrong|has not the form/)
  await assert.rejects(check(TEXT), /no signed note/)
})

test('text that is not a verifier key is rejected with the reason', () => {
  const key = KEY.verifier()
  assert.equal(readKey(`${key}\n`).name, NAME)
  for (const text of ['', 'a+b', key.slice(0, -4), key.replace(NAME, 'a b'), generateNoteKey(NAME)]) {
    assert.throws(() => readKey(text), /not one of a log, NAME\+ID\+KEY/)
  }
  assert.throws(() => readKey(key.replace(NAME, 'other')), /the id in the key/)
  assert.throws(() => readKey(new TestWitness('witness.example.com').verifier), /with Ed25519/)
})

test('texts that are not checkpoints are rejected', () => {
  for (const text of ['x\n', `${NAME}\n012\n${ROOT.toString('base64')}\n`, `${NAME}\n12\nshort\n`, `\n12\n${ROOT}\n`]) {
    assert.throws(() => readCheckpoint(KEY.sign(text)), /states no/)
  }
})

test('the cosignature of a witness is distinguished from that of another one, and from one of another checkpoint', async () => {
  const [witness, other] = [new TestWitness('witness.example.com'), new TestWitness('witness.example.com')]
  const key = readKey(witness.verifier, 'witness')
  const line = witness.line(NOTE, 1_800_000_000)
  assert.equal(await checkCosignature(NOTE + other.line(NOTE) + line, key), 1_800_000_000n)
  await assert.rejects(checkCosignature(NOTE, key), /witness\.example\.com has not cosigned/)
  await assert.rejects(checkCosignature(NOTE + other.line(NOTE), key), /has not cosigned/)
  const elsewhere = NOTE + witness.line(KEY.sign(TEXT.replace('\n12\n', '\n13\n')))
  await assert.rejects(checkCosignature(elsewhere, key), /the cosignature of .* is wrong/)
  assert.throws(() => readKey(KEY.verifier(), 'witness'), /not one of a witness/)
})
