import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { readJsonBody, withoutByteOrderMark } from '../../../../../contract/std/jsonBody.ts'
import { nestsDeeper } from '../../../../../contract/std/jsonDepth.ts'
import type { Span } from '../../../../../contract/std/span.ts'
import type { Model } from '../../../../../proxy/catalog/catalog.ts'
import type { Provider, Route } from '../../../../../proxy/catalog/pricedItem.ts'
import { nativeCodec } from '../../../../../proxy/dialects/anthropic/native.ts'
import { chatSurface } from '../../../../../proxy/dialects/chatSurface.ts'
import { completionsSurface } from '../../../../../proxy/dialects/completionsSurface.ts'
import { messagesSurface } from '../../../../../proxy/dialects/messagesSurface.ts'
import {
  CHAT,
  OpenaiRequestBuilder,
  printOpenai,
  TEXT,
} from '../../../../../proxy/dialects/openai/openaiRequestBuilder.ts'
import type { ChatSurface } from '../../../../../proxy/dialects/shared/codec.ts'
import { cutRequest } from '../../../../../proxy/dialects/shared/cutRequest.ts'
import { CutJson } from '../../../../../proxy/json/cutJson.ts'
import { limits } from '../../../../support/limits.ts'

const LONG = 2_048
const route = { provider: { apiKey: 'secret' } as Provider, upstreamModel: 'up' } as Route

function cutOf(bytes: Buffer): { cut: CutJson; strings: Span[] } {
  const strings: Span[] = []
  nestsDeeper(bytes, limits.jsonDepthMax, strings)
  return { cut: new CutJson(bytes, strings), strings }
}

/** What a provider is sent for a body: with its long strings cut out, and in the ordinary way. */
function sent(body: Buffer, surface: ChatSurface = chatSurface): { cut: Buffer; plain: string; cuts: number } {
  const to = surface === chatSurface ? CHAT : TEXT
  const strings: Span[] = []
  const request = surface.read(readJsonBody(body, limits.jsonDepthMax, strings), limits)
  const cut = cutRequest(body, strings, surface, limits)
  const pieces = new OpenaiRequestBuilder(request, 'req_A', printOpenai(request, {}, cut), to).make(route, 100).body
  const bytes = typeof pieces === 'string' ? Buffer.from(pieces) : Buffer.concat(pieces)
  return {
    cut: bytes,
    plain: String(new OpenaiRequestBuilder(request, 'req_A', printOpenai(request, {}), to).make(route, 100).body),
    cuts: strings.length,
  }
}

/** JSON text of a value with what clients may write differently: space between tokens, escapes. */
function written(value: unknown, space: string, escaped: boolean): string {
  const text = JSON.stringify(value, null, space)
  return escaped ? text.replace(/[^\t\n -~]/g, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`) : text
}

describe('JSON with its long strings cut out', () => {
  const unit = fc.oneof(
    fc.string(),
    fc.constantFrom('"', '\\', '\\"', '\n', 'ü', '漢', '😀', '\ud800', '\u2028', ';', '@@'),
  )
  const text = fc.tuple(unit, fc.integer({ min: 0, max: LONG + 2 }), unit).map(([a, n, b]) => a + 'x'.repeat(n) + b)
  const { value } = fc.letrec((tie) => ({
    value: fc.oneof(
      { depthSize: 'medium' },
      text,
      fc.integer(),
      fc.constant(null),
      fc.array(tie('value'), { maxLength: 3 }),
      fc.dictionary(fc.oneof(unit, text), tie('value'), { maxKeys: 3 }),
    ),
  }))

  test('is restored when the strings are put back', () => {
    let cuts = 0
    fc.assert(
      fc.property(
        fc.array(value, { maxLength: 4 }),
        fc.constantFrom('', ' ', '\t'),
        fc.boolean(),
        (list, space, escaped) => {
          const bytes = Buffer.from(written(['['.repeat(LONG), list], space, escaped))
          const { cut, strings } = cutOf(bytes)
          cuts += strings.length
          assert.ok(cut.text().length < bytes.length)
          const parsed: unknown = JSON.parse(cut.text())
          const back = Buffer.concat(cut.fill(JSON.stringify(parsed))).toString()
          assert.deepEqual(JSON.parse(back), JSON.parse(bytes.toString()))
        },
      ),
      { numRuns: 1_000 },
    )
    assert.ok(cuts > 1_000)
  })

  test('keeps the long names of members, of which only the last counts', () => {
    const name = 'n'.repeat(LONG)
    const bytes = Buffer.from(`{"${name}" : 1,"${name}"\n:"${'v'.repeat(LONG)}"}`)
    const { cut, strings } = cutOf(bytes)
    assert.equal(strings.length, 1)
    const back = Buffer.concat(cut.fill(JSON.stringify(JSON.parse(cut.text())))).toString()
    assert.equal(back, `{"${name}":"${'v'.repeat(LONG)}"}`)
  })

  test('cuts strings from the minimum length on', () => {
    const strings = (bytes: number) => cutOf(Buffer.from(JSON.stringify(['x'.repeat(bytes), 'y'.repeat(9)]))).strings
    assert.equal(strings(LONG - 1).length, 0)
    assert.deepEqual(strings(LONG), [{ start: 2, end: LONG + 2 }])
  })
})

describe('a request with long strings', () => {
  const long = (c: string) => `${c.repeat(LONG)}\n"quoted" \\ ü漢😀`

  test('reaches the provider as it would without cutting, for every place of a string', () => {
    const body = {
      model: 'acme/m',
      stream: true,
      user: 'u',
      stop: ['short'],
      unknown: long('x'),
      messages: [
        { role: 'system', content: long('a'), unknown: long('b') },
        {
          role: 'user',
          content: [
            { type: 'text', text: long('c') },
            { type: 'image_url', image_url: `data:image/png;base64,${long('d')}` },
          ],
        },
        {
          role: 'user',
          content: [
            {
              type: 'image_url',
              image_url: { url: `data:image/png;base64,${long('e')}`, detail: 'low', more: long('f') },
            },
          ],
        },
        {
          role: 'assistant',
          reasoning_content: long('g'),
          tool_calls: [
            { id: 'call', type: 'function', function: { name: 'f', arguments: JSON.stringify({ text: long('h') }) } },
          ],
        },
        { role: 'tool', tool_call_id: 'call', content: long('i') },
      ],
      tools: [{ type: 'function', function: { name: 'f', description: long('j'), parameters: { enum: [long('k')] } } }],
      response_format: { type: 'json_schema', json_schema: { name: 'n', schema: { description: long('l') } } },
    }
    for (const space of ['', '  ']) {
      const { cut, plain, cuts } = sent(Buffer.from(JSON.stringify(body, null, space)))
      assert.equal(cuts, 13)
      assert.equal(cut.toString(), plain)
    }
  })

  test('keeps the escapes that the client wrote', () => {
    const content = '\\u00fc\\/'.repeat(LONG)
    const { cut, plain } = sent(Buffer.from(`{"model":"acme/m","messages":[{"role":"user","content":"${content}"}]}`))
    assert.ok(cut.includes(content))
    assert.deepEqual(JSON.parse(cut.toString()), JSON.parse(plain))
  })

  test('of a duplicate member sends the one that was read', () => {
    const twice = `{"role":"user","content":"${'1'.repeat(LONG)}","content":"${'2'.repeat(LONG)}"}`
    const { cut, plain, cuts } = sent(Buffer.from(`{"model":"acme/m","messages":[${twice}]}`))
    assert.equal(cuts, 2)
    assert.equal(cut.toString(), plain)
    assert.ok(!cut.includes('11'))
  })

  test('may begin with a byte order mark', () => {
    const body = JSON.stringify({ model: 'acme/m', messages: [{ role: 'user', content: long('m') }] })
    const { cut, plain } = sent(Buffer.from(`\ufeff${body}`))
    assert.equal(cut.toString(), plain)
    assert.equal(withoutByteOrderMark('\ufeff{}'), '{}')
  })

  test('is cut at /v1/completions too', () => {
    const body = { model: 'acme/m', prompt: [long('p')], suffix: long('q'), echo: true }
    const { cut, plain, cuts } = sent(Buffer.from(JSON.stringify(body)), completionsSurface)
    assert.equal(cuts, 2)
    assert.equal(cut.toString(), plain)
  })

  test('is cut between a client and a provider that both speak Messages', () => {
    const body = {
      model: 'acme/m',
      max_tokens: 100,
      system: [{ type: 'text', text: long('a'), cache_control: { type: 'ephemeral', ttl: '1h' } }],
      messages: [
        {
          role: 'user',
          content: [{ type: 'image', source: { type: 'base64', media_type: 'image/png', data: long('b') } }],
        },
        { role: 'assistant', content: [{ type: 'thinking', thinking: long('c'), signature: long('d') }] },
        { role: 'assistant', content: [{ type: 'tool_use', id: 'call', name: 'f', input: { path: long('e') } }] },
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'call', content: long('f'), more: long('g') }] },
      ],
      tools: [{ name: 'f', description: long('h'), input_schema: { type: 'object', description: long('i') } }],
    }
    const bytes = Buffer.from(JSON.stringify(body))
    for (const pricesHour of [true, false]) {
      const model = { thinking: 'budget', pricesHour } as Model
      const strings: Span[] = []
      const request = messagesSurface.read(readJsonBody(bytes, limits.jsonDepthMax, strings), limits)
      assert.equal(strings.length, 9)
      const cut = cutRequest(bytes, strings, messagesSurface, limits)
      const [there, plain] = [cut, null].map(
        (by) => nativeCodec.ask(request, 'req_A', model, nativeCodec.print(request, model, by)).make(route, 100).body,
      )
      assert.ok(Array.isArray(there))
      assert.equal(Buffer.concat(there as Buffer[]).toString(), plain)
    }
  })

  test('is sent in the ordinary way when there are too many', () => {
    const messages = Array.from({ length: 257 }, () => ({ role: 'user', content: long('z') }))
    const body = Buffer.from(JSON.stringify({ model: 'acme/m', messages }))
    const { cut, plain, cuts } = sent(body)
    assert.equal(cuts, 257)
    assert.equal(cut.toString(), plain)
    assert.equal(cutRequest(body, cutOf(body).strings, chatSurface, limits), null)
  })
})
