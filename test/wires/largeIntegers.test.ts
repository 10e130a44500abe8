// Goal: numbers with more digits than JavaScript keeps reach clients and providers in the inputs of calls as they were written.
// One row an input; the bytes are compared, because most packages round such numbers themselves.
import assert from 'node:assert/strict'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, describe, test } from 'node:test'
import { postJson, send } from '../support/clients/mediaClient.ts'
import { OVER, turnCatalog } from '../support/providers/turnCatalog.ts'
import { type Stack, startStack } from '../support/stack.ts'

/** Inputs as JSON, each with numbers that are rounded when it is parsed. */
const INPUTS = [
  '{"id":12345678901234567890}',
  '{"id":-9007199254740993}',
  '{"id":[9007199254740993,1],"deep":{"n":98765432109876543210,"text":"a \\"quote\\", 12345678901234567890"}}',
  '{"text":"12345678901234567890","id":12345678901234567891}',
  '{"toJSON":1,"id":7}',
  '{"id":7,"price":1.5}',
]
const plain = (text: string): string => text.replaceAll(/[\\\s]/g, '')

let stack: Stack
let server: Server
let apiKey: string
let sent = ''
let input = ''

/** What a provider of either dialect answers: a call with the input. */
function answer(isMessages: boolean): string {
  const usage = { input_tokens: 10, output_tokens: 5, prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 }
  const said = isMessages
    ? { type: 'message', role: 'assistant', content: [], stop_reason: 'tool_use', usage }
    : { choices: [], usage }
  const call = `{"type":"tool_use","id":"toolu_1","name":"f","input":${input}}`
  const message = `{"role":"assistant","tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":${JSON.stringify(input)}}}]}`
  const choice = `{"index":0,"message":${message},"finish_reason":"tool_calls"}`
  return JSON.stringify(said).replace('[]', `[${isMessages ? call : choice}]`)
}

before(async () => {
  server = createServer((request, response) => {
    const parts: Buffer[] = []
    request.on('data', (part: Buffer) => parts.push(part))
    request.on('end', () => {
      sent = Buffer.concat(parts).toString()
      response
        .writeHead(200, { 'content-type': 'application/json' })
        .end(answer(request.url?.endsWith('/messages') === true))
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  stack = await startStack({ catalog: turnCatalog(`http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`) })
  apiKey = (await stack.createAccount({ credits: '100' })).apiKey
})

after(async () => {
  await stack.finish()
  server.close()
})

const HELLO = { role: 'user', content: 'hi' }
const FORMATS = {
  'chat/completions': { messages: [HELLO] },
  messages: { messages: [HELLO], max_tokens: 50 },
  responses: { input: 'hi' },
}

describe('of an answer', () => {
  for (const dialect of OVER) {
    for (const [path, body] of Object.entries(FORMATS)) {
      for (const stream of [false, true]) {
        test(`in one piece of ${dialect}, for ${path}, stream ${stream}`, async () => {
          for (input of INPUTS) {
            const reply = await postJson(`${stack.baseUrl}/v1/${path}`, apiKey, {
              model: `test/${dialect}`,
              ...body,
              stream,
            })
            const { text } = reply
            assert.equal(reply.status, 200, text)
            assert.ok(plain(text).includes(plain(input)), `${input} in ${text}`)
          }
        })
      }
    }
  }
})

describe('of a history', () => {
  const call = () => ({ id: 'c', type: 'function', function: { name: 'f', arguments: input } })
  const histories = {
    'chat/completions': () => ({
      messages: [
        HELLO,
        { role: 'assistant', content: null, tool_calls: [call()] },
        { role: 'tool', tool_call_id: 'c', content: 'ok' },
      ],
    }),
    responses: () => ({
      input: [
        HELLO,
        { type: 'function_call', call_id: 'c', name: 'f', arguments: input },
        { type: 'function_call_output', call_id: 'c', output: 'ok' },
      ],
    }),
  }
  const assertSent = (reply: { readonly status: number; readonly text: string }): void => {
    assert.equal(reply.status, 200, reply.text)
    assert.ok(plain(sent).includes(plain(input)), `${input} in ${sent}`)
    assert.equal(typeof JSON.parse(sent), 'object')
  }
  for (const dialect of OVER) {
    for (const [path, history] of Object.entries(histories)) {
      test(`for ${dialect}, of ${path}`, async () => {
        for (input of INPUTS) {
          const reply = await postJson(`${stack.baseUrl}/v1/${path}`, apiKey, {
            model: `test/${dialect}`,
            ...history(),
          })
          assertSent(reply)
        }
      })
    }
  }

  const PIXEL = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
  const image = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: PIXEL } }
  const beside: Readonly<Record<string, unknown[]>> = {
    'nothing else': [],
    'a kept text': [{ type: 'text', text: 'kept', cache_control: { type: 'ephemeral', ttl: '1h' } }],
    'a long text': [{ type: 'text', text: 'long '.repeat(1_000) }],
    'an image': [image],
    'a long image': [{ ...image, source: { ...image.source, data: PIXEL + 'A'.repeat(60_000) } }],
    'a text of 400 KB': [{ type: 'text', text: 'x'.repeat(400_000) }],
  }
  for (const dialect of OVER) {
    for (const [name, blocks] of Object.entries(beside)) {
      test(`for ${dialect}, of messages, beside ${name}`, async () => {
        const place = '"input":{}'
        const use = { type: 'tool_use', id: 'c', name: 'f', input: {} }
        const result = { type: 'tool_result', tool_use_id: 'c', content: 'ok' }
        const content = [
          { role: 'assistant', content: [use] },
          { role: 'user', content: [result] },
        ]
        const said = [{ role: 'user', content: [...blocks, { type: 'text', text: 'hi' }] }, ...content]
        const body = JSON.stringify({ model: `test/${dialect}`, max_tokens: 50, messages: said })
        for (input of [...INPUTS, `{"id":12345678901234567890,"text":"${'long '.repeat(1_000)}"}`]) {
          const json = body.replace(place, `"input":${input}`)
          assertSent(await send(`${stack.baseUrl}/v1/messages`, apiKey, json, { 'content-type': 'application/json' }))
        }
      })
    }
  }
})
