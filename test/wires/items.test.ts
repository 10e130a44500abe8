import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import OpenAI from 'openai'
import { ITEM_KINDS } from '../../proxy/dialects/responses/itemKinds.ts'
import { post } from '../support/clients/responsesClient.ts'
import { TurnProvider } from '../support/providers/turnProvider.ts'
import { type Stack, startStack } from '../support/stack.ts'
import { CALL_ITEMS } from './callItemRows.ts'
import { GO_ON, HELLO, HISTORIES, REFUSED } from './itemRows.ts'

const MODEL = 'test/turns'

let stack: Stack
let provider: TurnProvider
let client: OpenAI
let apiKey: string

before(async () => {
  provider = await TurnProvider.start()
  const routes = [{ provider: 'turns', model: 'm' }]
  stack = await startStack({
    catalog: {
      providers: [{ id: 'turns', base_url: provider.url }],
      models: [{ id: MODEL, endpoints: ['responses'], routes }],
    },
  })
  apiKey = (await stack.createAccount()).apiKey
  client = new OpenAI({ baseURL: `${stack.baseUrl}/v1`, apiKey, maxRetries: 0 })
})

after(async () => {
  await stack.finish()
  await provider.stop()
})

describe('items of a history', () => {
  for (const [title, items, messages] of [...HISTORIES, ...CALL_ITEMS]) {
    test(title, async () => {
      const input = [...items, HELLO] as OpenAI.Responses.ResponseInput
      const { output_text } = await client.responses.create({ model: MODEL, input })
      assert.equal(output_text, 'ok')
      assert.deepEqual(provider.last.body['messages'], [...messages, GO_ON])
    })
  }

  for (const [title, items, param] of REFUSED) {
    test(`refused: ${title}`, async () => {
      const reply = await post(stack.baseUrl, '/v1/responses', apiKey, { model: MODEL, input: items })
      assert.equal(reply.status, 400)
      assert.equal((JSON.parse(reply.text) as { error: { param: string } }).error.param, param)
    })
  }

  test('the tokens of a history are counted free, as the official client asks for them', async () => {
    const input = [...(HISTORIES[2]?.[1] ?? []), HELLO] as OpenAI.Responses.ResponseInput
    const asked = provider.asked.length
    const counted = await client.responses.inputTokens.count({ model: MODEL, input, instructions: 'Be brief.' })
    assert.equal(counted.object, 'response.input_tokens')
    assert.ok(counted.input_tokens > 10 && counted.input_tokens < 100, String(counted.input_tokens))
    assert.equal(provider.asked.length, asked)
    const whole = await client.responses.inputTokens.count({ model: MODEL, input: 'word '.repeat(70_000) })
    assert.ok(whole.input_tokens > 60_000)
  })

  test('every kind of the table has a row', () => {
    const tried = new Set(
      [...HISTORIES, ...REFUSED].flatMap(([, items]) => items.map((item) => Reflect.get(item, 'type'))),
    )
    const missing = Object.keys(ITEM_KINDS).filter((kind) => kind !== 'additional_tools' && !tried.has(kind))
    assert.deepEqual(missing, [])
  })
})
