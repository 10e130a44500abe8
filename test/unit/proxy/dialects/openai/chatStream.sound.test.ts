// Goal: nothing is relayed that is not JSON, or that clients would take for a receipt of the gateway.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { usageBounds } from '../../../../../contract/money/openaiUsage.ts'
import { ChatStream } from '../../../../../proxy/dialects/openai/chatStream.ts'
import { chunkIdentity } from '../../../../../proxy/dialects/openai/rewrite.ts'
import { OutBuffer } from '../../../../../proxy/sse/outBuffer.ts'
import { limits } from '../../../../support/limits.ts'
import { rounds } from '../../../../support/rounds.ts'
import { chunk } from '../../../../support/samples/chunks.ts'
import { seededRandom } from '../../../../support/samples/mutations.ts'

const IDENTITY = chunkIdentity('req_01ARZ3NDEKTSV4RRFFQ69G5FAV', 'acme/chat-small', 0)
const BOUNDS = usageBounds(128_000, 16_384)

function relay(source: string | Buffer): { stream: ChatStream; out: string } {
  const out = new OutBuffer()
  const stream = new ChatStream(IDENTITY, false, BOUNDS, limits)
  // Who speaks is said before it.
  stream.push(Buffer.from('data: {"choices":[{"index":0,"delta":{"role":"assistant"}}]}\n\n'), out)
  out.clear()
  stream.push(Buffer.from(source), out)
  stream.finish(out)
  return { stream, out: out.view().toString() }
}

/** @throws SyntaxError for data that is not JSON */
function events(out: string): unknown[] {
  return out
    .split('\n\n')
    .filter((event) => event.startsWith('data: '))
    .map((event) => JSON.parse(event.slice(6)) as unknown)
}

test('a stream with a receipt of the provider breaks off there', () => {
  const said = 'data: {"id":"a","choices":[{"index":0,"delta":{"content":"x"}}]}\n\n'
  const { out, stream } = relay(`${said}data: {"id":"a","choices":[],"receipt":{"cost":{"units":"0"}}}\n\n${said}`)
  assert.deepEqual([stream.state, stream.outputFrames, out.includes('cost')], ['broken', 1, false])
})

const RECEIPTS = ['"receipt":{"cost":{"units":"0"}}', '"\\u0072eceipt":{}', '"rec\\u0065ipt" : null']
for (const receipt of RECEIPTS) {
  test(`clients get no ${receipt} of a provider`, () => {
    const { out, stream } = relay(`data: {"id":"a","choices":[{"index":0,"delta":{"content":"x"}}],${receipt}}\n\n`)
    assert.deepEqual([stream.state, out], ['broken', ''])
  })
}

const SAID = '{"id":"a","choices":[{"index":0,"delta":{"content":"x"},"logprobs":null}],"usage":null}'
const UNSOUND: readonly (readonly [what: string, chunk: string])[] = [
  ['a value without its first quote', SAID.replace('"a"', 'Pc"')],
  ['a raw control character in a name', SAID.replace('"logprobs"', '"logp\u0000robs"')],
  ['a raw control character in a text', SAID.replace('"x"', '"x\ty"')],
  ['an unknown escape', SAID.replace('"x"', '"x\\q"')],
  ['half an escape', SAID.replace('"x"', '"x\\u12"')],
  ['a number that is none', SAID.replace('null', 'NaN')],
  ['a comma too many', SAID.replace('null}', 'null,}')],
  ['brackets that do not match', SAID.replace('"logprobs":null', '"logprobs":[}')],
  ['a raw control character in padding', SAID.replace(/}$/, ',"obfuscation":"a\u0001b"}')],
  ['padding without its end', SAID.replace(/}$/, ',"obfuscation":"ab}')],
  ['padding with an unknown escape', SAID.replace(/}$/, ',"obfuscation":"\\q"}')],
  ['values without a comma', SAID.replace('"logprobs":null', '"logprobs":[1 2]')],
]
for (const [what, unsound] of UNSOUND) {
  for (const before of [0, 1, 3]) {
    test(`${what} is not relayed, after ${before} chunks as they should be`, () => {
      assert.throws(() => JSON.parse(unsound))
      const said = unsound.includes('obfuscation') ? SAID.replace(/}$/, ',"obfuscation":"xyz"}') : SAID
      const sound = `data: ${said}\n\n`
      const { out, stream } = relay(`${sound.repeat(before)}data: ${unsound}\n\n`)
      assert.deepEqual([stream.state, events(out).length], ['broken', before])
    })
  }
}

test('property: whatever changes on the way, clients can parse all data', () => {
  fc.assert(
    fc.property(fc.array(chunk, { minLength: 1, maxLength: 3 }), fc.integer(), fc.nat(4), (chunks, seed, changes) => {
      const sound = chunks.map(({ json }) => `data: ${json}\n\n`).join('') + `data: ${SAID}\n\n`.repeat(3)
      const bytes = Buffer.from(sound)
      const random = seededRandom(seed)
      for (let i = 0; i < changes; i++) bytes[Math.floor(random() * bytes.length)] = Math.floor(random() * 128)
      events(relay(bytes).out)
    }),
    { numRuns: rounds({ short: 1_200, long: 100_000 }) },
  )
})
