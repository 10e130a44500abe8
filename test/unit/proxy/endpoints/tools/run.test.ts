// Goal: an upstream's large answer comes to the same result as a small one, and other threads read it. Method: calls are served
// by the proxy's own routes without sockets; what the main thread parses and prints is looked at.
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { limits } from '../../../../support/limits.ts'
import { newProxy } from '../../../../support/parts/soundRequests.ts'
import { watchJson } from '../../../../support/parts/turnWatch.ts'

const LARGE_BYTES = limits.answerAtOnceBytesMax
const proxy = newProxy()
after(() => proxy.close())

/** Calls a tool whose upstream answers so. @returns status, and the answer without the ids and times of its receipt */
async function call(answer: string): Promise<string> {
  proxy.answer = { contentType: 'application/json', body: Buffer.from(answer) }
  const { status, text } = await proxy.send('/v1/tools/web.search', Buffer.from('{"query":"x","count":2}'))
  assert.deepEqual(proxy.faults, [])
  return `${status} ${text.replace(/"receipt":.*/, '')}`
}

const result = (title: string) => `{"title":"${title}","link":"u"}`
const found = (results: string, more = '') => `{"web":{"results":[${results}]},"usage":{"results":2}${more}}`

const SOUND: readonly (readonly [what: string, answer: string])[] = [
  ['two results', found(`${result('a')},${result('界')}`)],
  ['more results than were asked for', found(Array.from({ length: 5 }, () => result('a')).join())],
  ['no list of results', '{"web":{},"usage":{"results":2}}'],
  ['no object', '[1]'],
  ['cut off', '{"web":{"results":['],
  ['two roots', `${found(result('a'))}{}`],
]

for (const [what, answer] of SOUND) {
  test(`${what}: a large answer comes to the same as a small one`, async (t) => {
    const small = await call(answer)
    const work = watchJson()
    t.after(work.stop)
    const large = await call(answer + ' '.repeat(LARGE_BYTES))
    assert.ok(work.bytes() < LARGE_BYTES, `${work.bytes()} bytes at once`)
    assert.equal(large, small)
  })
}

const HOSTILE: readonly (readonly [what: string, answer: (bytes: number) => string, status: number])[] = [
  ['text', (bytes) => found(`${result('\\"'.repeat(bytes / 2 - 100))},${result('b')}`), 200],
  ['a member of text', (bytes) => found(result('a'), `,"x":"${'界'.repeat(bytes / 3 - 100)}"`), 200],
  ['members', (bytes) => found(result('a'), `,"x":[${'{"a":1},'.repeat(bytes / 8 - 100)}{}]`), 502],
  ['elements', (bytes) => found(result('a'), `,"x":[${'1,'.repeat(bytes / 2 - 100)}1]`), 502],
  ['nesting', (bytes) => found(result('a'), `,"x":${'['.repeat(bytes / 2 - 100)}${']'.repeat(bytes / 2 - 100)}`), 502],
  ['more bytes than an answer has', (bytes) => found(result('a'.repeat(bytes + 1))), 502],
]

for (const [what, answer, status] of HOSTILE) {
  test(`2 MiB of ${what} are not read by the main thread`, async (t) => {
    const work = watchJson()
    t.after(work.stop)
    const text = await call(answer(limits.toolAnswerBytesMax))
    assert.equal(text.slice(0, 3), String(status), text.slice(0, 200))
    assert.ok(work.bytes() < LARGE_BYTES, `${work.bytes()} bytes at once`)
  })
}
