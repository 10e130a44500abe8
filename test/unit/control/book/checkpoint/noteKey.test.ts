import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { generateNoteKey, NoteKey, openNote } from '../../../../../control/book/checkpoint/noteKey.ts'

// The example of the Go package golang.org/x/mod/sumdb/note, from which the format comes.
const SECRET = 'PRIVATE+KEY+PeterNeumann+c74f20a3+AYEKFALVFGyNhPJEMzD1QIDr+Y7hfZx09iUvxdXHKDFz'
const VERIFIER = 'PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW'
const TEXT = "If you think cryptography is the answer to your problem,\nthen you don't know what your problem is.\n"
const SIGNATURE =
  '— PeterNeumann x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpRZb6KE6RyyBwJnAM=\n'

test('a note is signed as by other implementations', () => {
  const key = NoteKey.of(SECRET)
  assert.equal(key.verifier(), VERIFIER)
  assert.equal(key.sign(TEXT), `${TEXT}\n${SIGNATURE}`)
})

test('a note verifies with the key that signed it, also beside other signatures', () => {
  const note = `${TEXT}\n${SIGNATURE}`
  assert.equal(openNote(note, VERIFIER), TEXT)
  const other = NoteKey.of(generateNoteKey('example.com/other'))
  const foreign = other.sign(TEXT).slice(TEXT.length + 1)
  assert.equal(openNote(`${TEXT}\n${foreign}${SIGNATURE}`, VERIFIER), TEXT)
  assert.equal(openNote(`${TEXT}\n${foreign}`, VERIFIER), undefined)
  // The same name with another key.
  const namesake = NoteKey.of(generateNoteKey('PeterNeumann'))
    .sign(TEXT)
    .slice(TEXT.length + 1)
  assert.equal(openNote(`${TEXT}\n${namesake}${SIGNATURE}`, VERIFIER), TEXT)
  assert.equal(openNote(`${TEXT}\n${namesake}`, VERIFIER), undefined)
})

test('a note with any one byte changed does not verify as another text', () => {
  const note = Buffer.from(`${TEXT}\n${SIGNATURE}`)
  for (let at = 0; at < note.length; at++) {
    const changed = Buffer.from(note)
    changed[at] = (changed[at] ?? 0) ^ 1
    const opened = openNote(changed.toString('utf8'), VERIFIER)
    assert.ok(opened === undefined || opened === TEXT, `byte ${at}`)
    if (at < Buffer.byteLength(TEXT)) assert.equal(opened, undefined, `byte ${at} of the text`)
  }
})

test('keys are identified by their name, and the error for a damaged key does not contain it', () => {
  const key = NoteKey.of(SECRET)
  const renamed = key.named('PeterNeumann/7')
  assert.equal(openNote(renamed.sign(TEXT), renamed.verifier()), TEXT)
  assert.equal(openNote(renamed.sign(TEXT), VERIFIER), undefined)
  for (const wrong of ['', 'x', SECRET.replace('c74f20a3', 'c74f20a4'), SECRET.slice(0, -1), VERIFIER]) {
    assert.throws(
      () => NoteKey.of(wrong),
      ({ message }: Error) => /key/.test(message) && !message.includes('AYEKF'),
    )
  }
})

test('every text verifies as it was signed', () => {
  const key = NoteKey.of(generateNoteKey('example.com/log'))
  const line = fc.string({ unit: fc.constantFrom('a', '—', ' ', '+', 'é', '\n') })
  fc.assert(
    fc.property(line, (lines) => {
      const text = `${lines}\n`
      assert.equal(openNote(key.sign(text), key.verifier()), text)
    }),
    { numRuns: 200 },
  )
})
