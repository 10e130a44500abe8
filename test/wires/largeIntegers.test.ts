// Goal: numbers with more digits than JavaScript keeps reach clients and providers in the inputs of calls as they were written.
// One row an input; the bytes are compared, because most packages round such numbers themselves.
import assert from 'node:assert/strict'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, describe, test } from 'node:test'
import { postJson } from '../support/clients/mediaClient.ts'
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
  for (const dialect of OVER) {
    for (const [path, history] of Object.entries(histories)) {
      test(`for ${dialect}, of ${path}`, async () => {
        for (input of INPUTS) {
          const reply = await postJson(`${stack.baseUrl}/v1/${path}`, apiKey, {
            model: `test/${dialect}`,
            ...history(),
          })
          assert.equal(reply.status, 200)
          assert.ok(plain(sent).includes(plain(input)), `${input} in ${sent}`)
          assert.equal(typeof JSON.parse(sent), 'object')
        }
      })
    }
  }
})
