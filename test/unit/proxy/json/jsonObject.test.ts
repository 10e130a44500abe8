// What is parsed of a provider's answer is bounded before it is parsed: by depth, members and elements, not by time.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseAnswer } from '../../../../proxy/json/jsonObject.ts'
import { limits } from '../../../support/limits.ts'

const MIB = 1_048_576
const sound = '"choices":[]'
const withMember = (value: string) => Buffer.from(`{${sound},"x":${value}}`)
const members = (count: number) => Array.from({ length: count }, (_, index) => `"m${index}":0`).join(',')

const HOSTILE: readonly (readonly [title: string, body: Buffer])[] = [
  ['8 MiB of empty objects', withMember(`[${'{},'.repeat((8 * MIB) / 3)}{}]`)],
  ['8 MiB of empty arrays', withMember(`[${'[],'.repeat((8 * MIB) / 3)}[]]`)],
  ['8 MiB of numbers', withMember(`[${'0,'.repeat(4 * MIB)}0]`)],
  ['8 MiB of empty strings', withMember(`[${'"",'.repeat((8 * MIB) / 3)}""]`)],
  ['distinct members', withMember(`{${members(limits.answerMembersMax)}}`)],
  ['distinct members at the top', Buffer.from(`{${members(limits.answerMembersMax + 1)}}`)],
  ['members spread over objects', withMember(`[${'{"a":0,"b":0},'.repeat(limits.answerMembersMax / 2)}{}]`)],
  ['brackets that are never closed', withMember('['.repeat(MIB))],
  ['deep nesting', withMember('['.repeat(limits.jsonDepthMax) + ']'.repeat(limits.jsonDepthMax))],
]

for (const [title, body] of HOSTILE) {
  test(`an answer is refused before it is parsed: ${title}`, (t) => {
    const parse = t.mock.method(JSON, 'parse')
    assert.equal(parseAnswer(body, limits), null)
    assert.equal(parse.mock.callCount(), 0)
  })
}

test('an answer with one long string, with escapes or without, is read', () => {
  for (const text of ['a'.repeat(MIB), '\\u00e4'.repeat(MIB / 4), '\\"{},[],'.repeat(MIB / 8)]) {
    assert.notEqual(parseAnswer(withMember(`"${text}"`), limits), null)
  }
})

test('an answer at the bounds is read', () => {
  const most = `[${'0,'.repeat(limits.answerElementsMax - 1)}0]`
  assert.notEqual(parseAnswer(withMember(most), limits), null)
  assert.equal(parseAnswer(withMember(`[0,${most.slice(1)}`), limits), null)
})
