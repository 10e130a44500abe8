// Goal: a registered endpoint cannot tell a comparison from a customer's request by anything but what is asked. Method: the bytes
// that control sends are compared with those that the proxy's own transport sends for the same request.
import assert from 'node:assert/strict'
import type { AddressInfo } from 'node:net'
import { createServer } from 'node:net'
import { after, before, test } from 'node:test'
import { newId } from '../../../../../../contract/wire/ids.ts'
import { type AskedModel, askModel } from '../../../../../../control/products/marketplace/serving/askModel.ts'
import { type Comparison, newComparison } from '../../../../../../control/products/marketplace/serving/comparison.ts'
import { callHttp } from '../../../../../../control/runtime/net/httpCall.ts'
import type { Provider } from '../../../../../../proxy/catalog/pricedItem.ts'
import { anthropicHeaders } from '../../../../../../proxy/dialects/anthropic/anthropicHeaders.ts'
import { openaiHeaders } from '../../../../../../proxy/dialects/openai/openaiHeaders.ts'
import { callWhole } from '../../../../../../proxy/upstream/callWhole.ts'
import { newTransport } from '../../../../../../proxy/upstream/newTransport.ts'
import { postRequest } from '../../../../../../proxy/upstream/providerRequest.ts'
import { limits } from '../../../../../support/limits.ts'
import { TEST_BUS_KEY } from '../../../../../support/parts/sealedCalls.ts'

const OUTPUTS = { maxOutput: 8_192, defaultOutput: 4_096 }
const event = (value: unknown): string => `data: ${JSON.stringify(value)}\n\n`
const USAGE = { prompt_tokens: 5, completion_tokens: 2 }
const COUNTED = { promptTokens: 5, outputTokens: 2 }
const OPENAI_STREAM =
  event({ choices: [{ delta: { content: 'one ' } }] }) +
  event({ choices: [{ delta: { content: 'two' } }] }) +
  event({ choices: [], usage: USAGE }) +
  'data: [DONE]\n\n'
const ANTHROPIC_STREAM =
  event({ type: 'message_start', message: { usage: { input_tokens: 5, output_tokens: 1 } } }) +
  event({ type: 'content_block_delta', delta: { type: 'text_delta', text: 'one ' } }) +
  event({ type: 'content_block_delta', delta: { type: 'text_delta', text: 'two' } }) +
  event({ type: 'message_delta', delta: {}, usage: { output_tokens: 2 } })

let answer = ''
let asked = ''
/** Answers every request with `answer`, and keeps what was asked. */
const server = createServer((socket) => {
  socket.on('data', (bytes) => {
    asked += bytes.toString()
    const [, head = '', body] = /^([\s\S]*?)\r\n\r\n([\s\S]*)$/.exec(asked) ?? []
    const length = Number(/content-length: (\d+)/.exec(head)?.[1])
    if (body !== undefined && Buffer.byteLength(body) >= length)
      socket.end(`HTTP/1.1 200 OK\r\ncontent-length: ${Buffer.byteLength(answer)}\r\n\r\n${answer}`)
  })
  socket.on('error', () => undefined)
})

before(() => new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve)))
after(() => server.close())

const baseUrl = () => `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`
const modelOf = (dialect: AskedModel['dialect']): AskedModel => ({
  baseUrl: baseUrl(),
  dialect,
  apiKey: 'the-key',
  model: 'some-model',
  maxTokensField: '',
  allowPrivate: true,
})

/** The head and the body that were sent, with the id left out. */
function sent(): { head: string; body: string } {
  const [head = '', body = ''] = asked.split('\r\n\r\n')
  assert.match(head, /x-request-id: try_[0-7][0-9A-HJKMNP-TV-Z]{25}/)
  return { head: head.replace(/try_\w+/, 'ID'), body }
}

async function compare(dialect: AskedModel['dialect'], comparison: Comparison) {
  asked = ''
  return askModel(modelOf(dialect), comparison, callHttp, limits)
}

for (const dialect of ['openai', 'anthropic'] as const) {
  for (const stream of [true, false]) {
    test(`a comparison over ${dialect}, ${stream ? 'streamed' : 'in one piece'}, is sent as proxies send requests`, async () => {
      answer = '{}'
      await compare(dialect, { ...newComparison(OUTPUTS), stream })
      const compared = sent()
      const url = new URL(baseUrl())
      const provider = { origin: url.origin, host: url.host, basePath: '/v1', apiKey: 'the-key' } as Provider
      const accept = stream ? 'text/event-stream' : 'application/json'
      const headers =
        dialect === 'openai' ? openaiHeaders(provider, 'application/json', accept) : anthropicHeaders(provider, accept)
      const path = dialect === 'openai' ? '/chat/completions' : '/messages'
      const transport = await newTransport('sockets', [Buffer.from(TEST_BUS_KEY, 'hex')], limits)
      asked = ''
      const request = { path, headers, requestId: newId('req'), body: compared.body }
      await callWhole(transport, postRequest(provider, request, limits, 5_000, true), 1_000)
      await transport.close()
      assert.deepEqual(compared, sent())
    })
  }
}

test('answers are read in one piece and as streams, whatever was asked for', async () => {
  const whole = { choices: [{ message: { content: 'one two' } }], usage: USAGE }
  const message = { content: [{ type: 'text', text: 'one two' }], usage: { input_tokens: 5, output_tokens: 2 } }
  const rows = [
    ['openai', JSON.stringify(whole)],
    ['openai', OPENAI_STREAM],
    ['anthropic', JSON.stringify(message)],
    ['anthropic', ANTHROPIC_STREAM],
  ] as const
  for (const [dialect, text] of rows) {
    answer = text
    for (const stream of [true, false])
      assert.deepEqual(await compare(dialect, { ...newComparison(OUTPUTS), stream }), { text: 'one two', ...COUNTED })
  }
  for (const text of ['', 'nothing', '{"a":', 'data: {', event({ type: 'ping' })]) {
    answer = text
    assert.equal(await compare('openai', newComparison(OUTPUTS)), undefined, text)
    assert.equal(await compare('anthropic', newComparison(OUTPUTS)), undefined, text)
  }
})
