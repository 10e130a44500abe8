// Goal: no request takes much longer to read and to write for a provider than others of its size, since other customers wait
// meanwhile. Method: the largest bodies that are read on the event loop, each full of what has to be compared with the rest of it.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { DIALECTS } from '../../../contract/catalog/dialects.ts'
import { readJsonBody } from '../../../contract/std/jsonBody.ts'
import type { AskModel, SurfaceName } from '../../../proxy/dialects/shared/codec.ts'
import { codecOf } from '../../../proxy/dialects/shared/codec.ts'
import { readChat } from '../../../proxy/dialects/shared/readChat.ts'
import { SURFACES } from '../../../proxy/endpoints/largeBodies/tasks/surfaces.ts'
import { limits } from '../../support/limits.ts'

/** Of the processor. Whatever is compared with all others takes many seconds, and the rest a tenth of one. */
const MS_MAX = 2_000
const REST_BYTES = 512
const MODEL: AskModel = { thinking: 'none', pricesHour: false, maxOutput: 1_000 }

/** As many values as a body has room for, the first `max` of them. */
function many<Value>(make: (i: number) => Value, max = Number.POSITIVE_INFINITY): Value[] {
  const bytes = Buffer.byteLength(JSON.stringify(make(10_000))) + 1
  const count = Math.min(max, Math.floor((limits.jsonAtOnceBytesMax - REST_BYTES) / bytes))
  return Array.from({ length: count }, (_, i) => make(i))
}

const said = { role: 'user', content: 'hi' }
const asked = (messages: readonly object[], more: object = {}) => ({ model: 'm', max_tokens: 9, messages, ...more })
const call = (id: string) => ({ id, type: 'function', function: { name: 'f', arguments: '{}' } })
const use = (id: string) => ({ type: 'tool_use', id, name: 'f', input: {} })
const withTool = (parameters: object) =>
  asked([said], { tools: [{ type: 'function', function: { name: 'f', parameters } }] })
const requiring = (names: readonly string[], of: object) => ({
  type: 'object',
  additionalProperties: false,
  properties: Object.fromEntries(names.map((name) => [name, of])),
  required: names.toReversed(),
})
const calls = (make: (i: number) => string) =>
  asked([said, { role: 'assistant', tool_calls: many((i) => call(make(i))) }])
const imageUrl = `data:image/png;base64,${'='.repeat(limits.jsonAtOnceBytesMax - REST_BYTES)}x`

const ROWS: readonly (readonly [title: string, surface: SurfaceName, body: object])[] = [
  ['calls with one id', 'chat', calls(() => 'a')],
  ['calls with an id of their own', 'chat', calls((i) => `a${i}`)],
  [
    'turns with one id',
    'chat',
    asked([said, ...many(() => ({ role: 'assistant', tool_calls: [call('a')] }), limits.messagesMax - 1)]),
  ],
  ['blocks with one id', 'messages', asked([said, { role: 'assistant', content: many(() => use('a')) }])],
  [
    'items with one id',
    'responses',
    { model: 'm', input: many(() => ({ type: 'function_call', call_id: 'a', name: 'f', arguments: '{}' })) },
  ],
  ['choices of a schema', 'chat', withTool({ anyOf: many((i) => ({ properties: { a: { const: i } } })) })],
  ['parts of a schema', 'chat', withTool({ allOf: many((i) => ({ properties: { a: { const: i } } })) })],
  ['names that are refused', 'chat', withTool(requiring(many((i) => `a b ${i}`.repeat(2)).slice(0, 9_000), {}))],
  [
    'members of an answer',
    'chat',
    asked([said], {
      response_format: {
        type: 'json_schema',
        json_schema: { name: 'a', schema: requiring(many((i) => `a${i}`.repeat(3)).slice(0, 9_000), { type: 'null' }) },
      },
    }),
  ],
  [
    'members of a strict tool',
    'messages',
    asked([said], {
      tools: [{ name: 'f', strict: true, input_schema: requiring(many((i) => `a${i}`.repeat(3)).slice(0, 9_000), {}) }],
    }),
  ],
  [
    'padding within an image',
    'chat',
    asked([{ role: 'user', content: [{ type: 'image_url', image_url: { url: imageUrl } }] }]),
  ],
]
for (const [title, surface, body] of ROWS) {
  test(`${title} are read and written in time`, () => {
    const bytes = Buffer.from(JSON.stringify(body))
    const { user } = process.cpuUsage()
    const request = readChat(SURFACES[surface], bytes, readJsonBody(bytes, limits.jsonDepthMax), limits)
    for (const dialect of DIALECTS) codecOf(SURFACES[surface], dialect).print(request, MODEL, null)
    const tookMs = (process.cpuUsage().user - user) / 1_000
    assert.ok(tookMs < MS_MAX, `${tookMs} ms`)
  })
}
