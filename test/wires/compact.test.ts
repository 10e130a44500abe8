// Goal: a conversation is summed up for the official client, by the path for it and by the item that Codex ends its input
// with; the summary comes back to the model in a later request, and is charged like any answer. One row a conversation.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import OpenAI from 'openai'
import type { Receipt } from '../support/clients/chatClient.ts'
import { post } from '../support/clients/responsesClient.ts'
import { itemOf, present } from '../support/present.ts'
import { TURN_USAGE, type Turn, TurnProvider } from '../support/providers/turnProvider.ts'
import { type Stack, startStack } from '../support/stack.ts'
import { checkedFetch } from '../support/wires/serialItems.ts'
import { GO_ON, HELLO } from './itemRows.ts'

type Input = OpenAI.Responses.ResponseInputItem[]
type Compacted = OpenAI.Responses.CompactedResponse & { receipt?: Receipt }

const MODELS = ['test/openai', 'test/anthropic']
const TOOLS = [
  { type: 'function', name: 'f', parameters: { type: 'object', properties: {} }, strict: false },
  { type: 'custom', name: 'apply_patch', description: 'Edits files' },
  { type: 'web_search' },
]
const user = (text: string) => ({ type: 'message', role: 'user', content: [{ type: 'input_text', text }] })
const said = (text: string) => ({ type: 'message', role: 'assistant', content: [{ type: 'output_text', text }] })
const CALLS = [
  { type: 'function_call', call_id: 'c1', name: 'f', arguments: '{}' },
  { type: 'function_call_output', call_id: 'c1', output: 'x' },
]
const PICTURE = { type: 'input_image', image_url: 'data:image/png;base64,iVBORw0KGgo=', detail: 'auto' }

/** Conversations, and the texts of the user's messages that stay. */
const CONVERSATIONS: readonly (readonly [title: string, input: unknown, kept: readonly string[]])[] = [
  ['a text', 'Fix the bug.', ['Fix the bug.']],
  ['a message with a text alone', [{ role: 'user', content: 'Fix the bug.' }], ['Fix the bug.']],
  ['two turns', [user('Fix it.'), said('Done.'), user('Thanks.')], ['Fix it.', 'Thanks.']],
  ['calls', [user('Fix it.'), ...CALLS, said('Done.')], ['Fix it.']],
  ['calls without an answer behind them', [user('Fix it.'), ...CALLS], ['Fix it.']],
  ['a developer', [{ role: 'developer', content: 'Be brief.' }, user('Fix it.'), said('Done.')], ['Fix it.']],
  ['what is left out', [{ type: 'web_search_call', id: 'w' }, user('Fix it.'), { type: 'reasoning' }], ['Fix it.']],
  ['a picture', [{ ...user('See.'), content: [{ type: 'input_text', text: 'See.' }, PICTURE] }], ['See.']],
  ['a long text', [user('x'.repeat(100_000)), user('y'.repeat(100_000))], ['y'.repeat(100_000)]],
  ['one that another thread reads', [user('long '.repeat(100_000)), said('Done.'), user('On.')], ['On.']],
]

let stack: Stack
let provider: TurnProvider
let client: OpenAI
let apiKey: string
let turn: Turn

before(async () => {
  provider = await TurnProvider.start(() => turn)
  const dialects = ['openai', 'anthropic']
  stack = await startStack({
    catalog: {
      providers: dialects.map((dialect) => ({ id: dialect, dialect, base_url: provider.url })),
      models: dialects.map((dialect) => ({
        id: `test/${dialect}`,
        endpoints: ['responses'],
        routes: [{ provider: dialect, model: 'm' }],
      })),
    },
  })
  apiKey = (await stack.createAccount({ credits: '100' })).apiKey
  client = new OpenAI({ baseURL: `${stack.baseUrl}/v1`, apiKey, maxRetries: 0, fetch: checkedFetch })
})

after(async () => {
  await stack.finish()
  await provider.stop()
})

async function compact(model: string, input: unknown, more: object = {}): Promise<Compacted> {
  turn = { text: 'We fixed it.' }
  return client.responses.compact({ model, input: input as Input, instructions: 'Be good.', ...more })
}

const messages = () => provider.last.body['messages'] as { role: string; content: unknown }[]
const lastText = () => JSON.stringify(messages().at(-1)?.content)

describe('a conversation is summed up', () => {
  for (const model of MODELS) {
    for (const [title, input, kept] of CONVERSATIONS) {
      test(`${title}, over ${model}`, async () => {
        const { object, output, usage, receipt } = await compact(model, input, { tools: TOOLS })
        assert.equal(object, 'response.compaction')
        const stays = output.slice(0, -1) as unknown as { type: string; role: string; content: { text?: string }[] }[]
        assert.ok(stays.every(({ type, role }) => type === 'message' && role === 'user'))
        assert.deepEqual(
          stays.map(({ content }) => content.map((part) => part.text ?? '').join('')),
          kept,
        )
        assert.equal(output.at(-1)?.type, 'compaction')
        assert.match(lastText(), /Sum up this conversation/)
        const { tools, tool_choice: choice, stream = false } = provider.last.body
        assert.equal(stream, false)
        // A provider of the Anthropic dialect wants the tools of a history, which are not to be called.
        assert.ok(tools === undefined || JSON.stringify(choice) === '{"type":"none"}')
        assert.deepEqual([usage.input_tokens, usage.output_tokens], [TURN_USAGE.prompt, TURN_USAGE.completion])
        const { prompt_tokens: prompt, completion_tokens: written } = present(receipt).usage
        assert.deepEqual([prompt, written], [TURN_USAGE.prompt, TURN_USAGE.completion])
      })
    }

    test(`the model goes on from its summary, over ${model}`, async () => {
      const { output } = await compact(model, [user('Fix it.'), said('Done.')])
      turn = { text: 'ok' }
      await client.responses.create({ model, input: [...output, HELLO] as unknown as Input })
      assert.match(JSON.stringify(messages()), /Fix it\..*summed up as follows.*We fixed it\..*go on/)
      // A summary of what has one already.
      const again = await compact(model, [...output, HELLO])
      assert.equal(again.output.filter(({ type }) => type === 'compaction').length, 1)
      assert.match(JSON.stringify(messages()), /We fixed it\..*go on.*Sum up/)
    })

    for (const stream of [false, true]) {
      test(`as the last item of an input, ${stream ? 'streamed' : 'in one piece'}, over ${model}`, async () => {
        turn = { reasoning: 'hm', text: 'We fixed it.' }
        const input = [user('Fix it.'), ...CALLS, { type: 'compaction_trigger' }] as unknown as Input
        const body = { model, input, tools: TOOLS as OpenAI.Responses.Tool[], store: false }
        const items: { type: string; encrypted_content?: string | null }[] = []
        if (stream) {
          for await (const event of await client.responses.create({ ...body, stream })) {
            if (event.type === 'response.output_item.done') items.push(event.item as { type: string })
            if (event.type === 'response.completed') assert.deepEqual(event.response.output, items)
          }
        } else {
          const { output, status } = await client.responses.create(body)
          assert.equal(status, 'completed')
          items.push(...output)
        }
        assert.deepEqual(
          items.map(({ type }) => type),
          ['compaction'],
        )
        turn = { text: 'ok' }
        await client.responses.create({ model, input: [user('Fix it.'), ...items, HELLO] as unknown as Input })
        assert.match(JSON.stringify(messages()), /We fixed it\./)
      })
    }
  }

  test('thoughts are the summary where the output ended before there was one', async () => {
    turn = { reasoning: 'We had fixed' }
    const { output } = await client.responses.compact({ model: itemOf(MODELS, 0), input: 'Fix it.' })
    turn = { text: 'ok' }
    await client.responses.create({ model: itemOf(MODELS, 0), input: [...output, HELLO] as unknown as Input })
    assert.match(JSON.stringify(messages()), /We had fixed/)
    assert.deepEqual(messages().at(-1), GO_ON)
  })

  test('the receipt is in the book, and the charge is that of the same tokens', async () => {
    const { receipt } = await compact(itemOf(MODELS, 0), 'Fix it.')
    const booked = await fetch(`${stack.baseUrl}/v1/receipts/${present(receipt).request_id}`, {
      headers: { authorization: `Bearer ${apiKey}` },
    }).then((reply) => reply.json() as Promise<Receipt>)
    assert.equal(booked.cost.units, present(receipt).cost.units)
    turn = { text: 'We fixed it.' }
    const plain = (await client.responses.create({ model: itemOf(MODELS, 0), input: 'Fix it.' })) as unknown as {
      receipt: Receipt
    }
    assert.equal(plain.receipt.cost.units, booked.cost.units)
  })

  for (const [title, body, param] of [
    ['no input', {}, 'input'],
    ['an input that is null', { input: null }, 'input'],
    ['an input that is no list', { input: 7 }, 'input'],
    ['an item of no known form', { input: [{}] }, 'input[0].type'],
    ['a response that is stored', { input: 'x', previous_response_id: 'resp_1' }, 'previous_response_id'],
    ['no model', { input: 'x', model: undefined }, 'model'],
  ] as const) {
    test(`refused: ${title}`, async () => {
      const reply = await post(stack.baseUrl, '/v1/responses/compact', apiKey, { model: MODELS[0], ...body })
      assert.equal(reply.status, 400, reply.text)
      assert.equal((JSON.parse(reply.text) as { error: { param: string } }).error.param, param)
    })
  }
})
