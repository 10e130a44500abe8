import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ModelRates } from '../../../../../contract/money/charge.ts'
import type { JsonObject } from '../../../../../contract/std/jsonObject.ts'
import { promptTokensMax } from '../../../../../proxy/admission/holdSize.ts'
import { chatSurface } from '../../../../../proxy/dialects/chatSurface.ts'
import { messagesSurface } from '../../../../../proxy/dialects/messagesSurface.ts'
import { responsesSurface } from '../../../../../proxy/dialects/responsesSurface.ts'
import type { ChatSurface } from '../../../../../proxy/dialects/shared/codec.ts'
import { limits } from '../../../../support/limits.ts'

const NAMES = ['read', 'write', 'read']
const CALLS = NAMES.map((name, i) => ({ id: `t${i}`, type: 'function', function: { name, arguments: '{}' } }))
const BODIES: readonly (readonly [surface: ChatSurface, body: JsonObject, calls: JsonObject])[] = [
  [
    chatSurface,
    { messages: [{ role: 'user', content: 'go' }] },
    {
      messages: [
        { role: 'user', content: 'go' },
        { role: 'assistant', content: null, tool_calls: CALLS },
      ],
    },
  ],
  [
    messagesSurface,
    { max_tokens: 9, messages: [{ role: 'user', content: 'go' }] },
    {
      max_tokens: 9,
      messages: [
        { role: 'user', content: 'go' },
        { role: 'assistant', content: NAMES.map((name, i) => ({ type: 'tool_use', id: `t${i}`, name, input: {} })) },
      ],
    },
  ],
  [
    responsesSurface,
    { input: 'go' },
    {
      input: [
        { role: 'user', content: 'go' },
        ...NAMES.map((name, i) => ({ type: 'function_call', call_id: `t${i}`, name, arguments: '{}' })),
      ],
    },
  ],
]
const MODEL = { thinking: 'none', pricesHour: false, maxOutput: 100 } as const

for (const [surface, plain, called] of BODIES) {
  test(`${surface.endpoint}: the hold covers the tools that are defined for the calls of a history`, () => {
    const sizeOf = (body: JsonObject) => surface.read({ model: 'acme/m', ...body }, limits).prompt
    const [without, size] = [sizeOf(plain), sizeOf(called)]
    const request = surface.read({ model: 'acme/m', ...called }, limits)
    const printed = surface.codecs.anthropic?.print(request, MODEL, null)
    const { tools, tool_choice: choice } = JSON.parse(`{${String(printed?.rest)}`) as JsonObject
    const added = Buffer.byteLength(JSON.stringify(tools) + JSON.stringify(choice))
    assert.equal(size.tools, 2)
    assert.equal((size.optionBytes ?? 0) - (without.optionBytes ?? 0), added)
    const rates = { longThreshold: 0 } as ModelRates
    // The provider's own prompt for tools is held for, too.
    assert.ok(promptTokensMax(size, rates, 0, 600) >= 600 + added / 2)
  })
}
