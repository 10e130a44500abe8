// What clients get has the form that the published description of the OpenAI API demands: answers in one piece, chunks,
// lists and errors, over providers of both dialects.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { assertValid } from '../../support/apiSchemas.ts'
import { chat, chatStream } from '../../support/clients/chatClient.ts'
import { mediaModel, postForm, postJson } from '../../support/clients/mediaClient.ts'
import { wavFile } from '../../support/samples/audio.ts'
import { type Stack, startStack } from '../../support/stack.ts'

/** What the models do; each is served by a provider of either dialect. */
const BEHAVIOURS = ['chunks=5', 'tool', 'thinking=2,chunks=3', 'chunks=5,usage=none']
const DIALECTS = ['openai', 'anthropic']

const idOf = (dialect: string, behaviour: string) => `${dialect}/${behaviour.replaceAll(/[^a-z0-9]+/g, '-')}`

let stack: Stack
let apiKey: string

before(async () => {
  const chatModels = DIALECTS.flatMap((provider) =>
    BEHAVIOURS.map((behaviour) => ({
      id: idOf(provider, behaviour),
      routes: [{ provider, model: `mock,${behaviour}` }],
    })),
  )
  stack = await startStack({
    catalog: {
      providers: [{ id: 'openai' }, { id: 'anthropic', dialect: 'anthropic' }, { id: 'mock' }],
      models: [
        ...chatModels,
        mediaModel('test/embedding', 'embedding'),
        mediaModel('test/image', 'image'),
        mediaModel('test/transcription', 'transcription'),
        mediaModel('test/rejected', 'embedding', 'mock,error=400'),
        mediaModel('test/down', 'embedding', 'mock,error=500'),
      ],
    },
  })
  ;({ apiKey } = await stack.createAccount())
})
after(() => stack.finish())

const url = (path: string) => `${stack.baseUrl}/v1/${path}`

function bodyOf(reply: { status: number; text: string }, status = 200): Record<string, unknown> {
  assert.equal(reply.status, status, reply.text)
  return JSON.parse(reply.text) as Record<string, unknown>
}

for (const dialect of DIALECTS) {
  for (const behaviour of BEHAVIOURS) {
    test(`chat completions and their chunks: ${dialect}, ${behaviour}`, async () => {
      const model = idOf(dialect, behaviour)
      assertValid('openai/CreateChatCompletionResponse', bodyOf(await chat(stack.baseUrl, apiKey, { model })))
      for (const include_usage of [false, true]) {
        const { events, done } = await chatStream(stack.baseUrl, apiKey, { model, stream_options: { include_usage } })
        for (const chunk of events) assertValid('openai/CreateChatCompletionStreamResponse', chunk)
        assert.equal(done, true)
        const { usage, choices } = events.at(-1) as { usage?: unknown; choices: unknown[] }
        assert.deepEqual([Boolean(usage), choices.length === 0], [include_usage, include_usage])
      }
    })
  }
}

test('embeddings, images and transcriptions', async () => {
  const embeddings = await postJson(url('embeddings'), apiKey, { model: 'test/embedding', input: ['a', 'b'] })
  assertValid('openai/CreateEmbeddingResponse', bodyOf(embeddings))
  const image = await postJson(url('images/generations'), apiKey, { model: 'test/image', prompt: 'a cat' })
  assertValid('openai/ImagesResponse', bodyOf(image))
  const heard = await postForm(url('audio/transcriptions'), apiKey, { model: 'test/transcription', file: wavFile(2) })
  assertValid('openai/CreateTranscriptionResponseJson', bodyOf(heard))
})

test('models', async () => {
  assertValid('openai/ListModelsResponse', await (await fetch(url('models'))).json())
  assertValid('openai/Model', await (await fetch(url('models/test/image'))).json())
})

test('errors from every source', async () => {
  const ask = (path: string, body: unknown) => postJson(url(path), apiKey, body)
  const input = 'a'
  assertValid('openai/ErrorResponse', bodyOf(await ask('embeddings', { model: 'test/embedding' }), 400))
  assertValid('openai/ErrorResponse', bodyOf(await ask('embeddings', { model: 'test/rejected', input }), 400))
  assertValid('openai/ErrorResponse', bodyOf(await ask('embeddings', { model: 'test/down', input }), 502))
  assertValid('openai/ErrorResponse', bodyOf(await ask('nothing/here', {}), 404))
  assertValid('openai/ErrorResponse', bodyOf(await postJson(url('embeddings'), 'sk_wrong', {}), 401))
})
