// Answers are counted while they arrive: what is parsed of them is bounded, and large values of some members stay bytes.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { excessOf } from '../../../../contract/std/jsonExcess.ts'
import { AnswerJson } from '../../../../proxy/json/answerJson.ts'
import { AnswerScan, type CutMembers, scanBounds } from '../../../../proxy/json/answerScan.ts'
import { limits } from '../../../support/limits.ts'

const NOTHING_CUT: CutMembers = new Map()
const LOGPROBS: CutMembers = new Map([[3, new Set(['logprobs'])]])
const MIB = 1_048_576

/** Scans a body in pieces of some sizes, in turn. @returns the scan, and the bytes of the piece that exceeded the bounds */
function scanned(body: Buffer, sizes: readonly number[], bounds = scanBounds(limits, LOGPROBS)) {
  const scan = new AnswerScan(bounds)
  for (let at = 0, turn = 0; at < body.length; turn++) {
    const size = sizes[turn % sizes.length] ?? 1
    if (!scan.push(body.subarray(at, at + size))) return { scan, isWithin: false, readBytes: at + size }
    at += size
  }
  return { scan, isWithin: true, readBytes: body.length }
}

const HOSTILE: readonly (readonly [title: string, value: string])[] = [
  ['empty objects', `[${'{},'.repeat(MIB)}{}]`],
  ['numbers', `[${'0,'.repeat(MIB)}0]`],
  ['empty strings', `[${'"",'.repeat(MIB)}""]`],
  ['distinct members', `{${Array.from({ length: 100_000 }, (_, index) => `"m${index}":0`).join(',')}}`],
  ['nesting', '['.repeat(MIB)],
  ['nesting in a value that is cut out', `[{"logprobs":${'['.repeat(MIB)}}]`],
  ['closed brackets', ']'.repeat(MIB)],
  ['a long string', `"${'a'.repeat(limits.answerParsedBytesMax)}"`],
]

for (const [title, value] of HOSTILE) {
  test(`no more of an answer is read than its bounds allow: ${title}`, () => {
    const { isWithin, readBytes } = scanned(Buffer.from(`{"choices":${value}}`), [65_536])
    assert.equal(isWithin, false)
    assert.ok(readBytes <= limits.answerParsedBytesMax + 65_536)
  })
}

test('the probabilities of 8,000 tokens with twenty others each are no part of what is parsed, and come back as they were', () => {
  const token = { token: ' a"b', logprob: -0.5, bytes: [32, 97, 34, 98] }
  const content = Array.from({ length: 8_000 }, () => ({ ...token, top_logprobs: Array(20).fill(token) }))
  const sent = { choices: [{ message: { content: 'said' }, logprobs: { content } }, { logprobs: { content: [] } }] }
  const body = Buffer.from(JSON.stringify(sent))
  const { scan, isWithin } = scanned(body, [65_536, 1, 1_000])
  assert.equal(isWithin, true)
  const answer = new AnswerJson(body, scan.cuts)
  const parsed = answer.parse(limits)
  assert.ok(JSON.stringify(parsed).length < 1_000)
  const filled = answer.fill(JSON.stringify(parsed))
  assert.equal(filled.toString(), body.toString())
})

test('members of the same name elsewhere are parsed like any other', () => {
  for (const value of [
    { logprobs: [1] },
    { choices: [{ message: { logprobs: [1] } }] },
    { choices: ['logprobs', [1]] },
  ]) {
    assert.deepEqual(scanned(Buffer.from(JSON.stringify(value)), [3]).scan.cuts, [])
  }
})

test('however an answer is split, the same is counted and the same cut out', () => {
  const text = fc.oneof(fc.string({ unit: 'binary' }), fc.constantFrom('logprobs', '\\', '"', '\\"', 'logprobs"'))
  const { value } = fc.letrec<{ value: unknown }>((tie) => ({
    value: fc.oneof(
      { depthSize: 'small', withCrossShrink: true },
      fc.oneof(text, fc.integer(), fc.constant(null)),
      fc.array(tie('value'), { maxLength: 4 }),
      fc.dictionary(text, tie('value'), { maxKeys: 4 }),
    ),
  }))
  const choice = fc.record({ logprobs: value, message: value })
  fc.assert(
    fc.property(
      fc.array(choice, { maxLength: 3 }),
      fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1 }),
      (all, sizes) => {
        const body = Buffer.from(JSON.stringify({ choices: all }))
        const { scan, isWithin } = scanned(body, sizes)
        assert.equal(isWithin, true)
        const cut = all.filter(({ logprobs }) => typeof logprobs === 'object' && logprobs !== null)
        assert.deepEqual(
          scan.cuts.map(({ start, end }) => JSON.parse(body.toString('utf8', start, end))),
          JSON.parse(JSON.stringify(cut.map(({ logprobs }) => logprobs))),
        )
        const answer = new AnswerJson(body, scan.cuts)
        assert.equal(answer.fill(JSON.stringify(answer.parse(limits))).toString(), body.toString())
        for (const bound of [0, 1, 2, 5, 9]) {
          const bounds = { depthMax: 9, membersMax: bound, elementsMax: bound }
          const whole = scanned(body, sizes, { ...bounds, bytesMax: body.length, cut: NOTHING_CUT })
          assert.equal(whole.isWithin, excessOf(body, bounds) === null)
        }
      },
    ),
  )
})
