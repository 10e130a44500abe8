// Goal: whatever asks a provider sends its own headers and its own query, and a secret among them that is replaced serves at once.
// Method: a provider that answers nobody without them.
import assert from 'node:assert/strict'
import { renameSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { BATCH_PRICE, ended, submitted } from '../../support/clients/batchClient.ts'
import { chat, chatStream, completion } from '../../support/clients/chatClient.ts'
import { messages } from '../../support/clients/messagesClient.ts'
import { type Stack, startStack, until } from '../../support/stack.ts'
import { makeTempDir, removeTempDir } from '../../support/tempDir.ts'

const USAGE = { prompt_tokens: 5, completion_tokens: 2, total_tokens: 7 }
const dir = makeTempDir('own-headers')
const secretFile = join(dir, 'secret')

let secret = 'first'
let asked: string[] = []
let server: Server
let stack: Stack
let apiKey: string

function mount(text: string): void {
  writeFileSync(`${secretFile}.new`, text)
  renameSync(`${secretFile}.new`, secretFile)
}

function isRight({ headers, url = '' }: IncomingMessage): boolean {
  const query = new URL(url, 'http://x').searchParams
  return (
    headers['x-secret'] === secret && headers['x-team'] === 'blue team' && query.get('api-version') === '2024-10-21'
  )
}

before(async () => {
  mount('first')
  server = createServer((request, response) => {
    const parts: Buffer[] = []
    request.on('data', (part: Buffer) => parts.push(part))
    request.on('end', () => {
      asked.push(String(request.url))
      if (!isRight(request)) return void response.writeHead(401).end('{"error":{"message":"who are you?"}}')
      const body = JSON.parse(Buffer.concat(parts).toString()) as { stream?: boolean; input?: unknown }
      if (body.input !== undefined) {
        const data = [{ object: 'embedding', index: 0, embedding: [0.5] }]
        return void response
          .writeHead(200, { 'content-type': 'application/json' })
          .end(JSON.stringify({ object: 'list', data, usage: USAGE }))
      }
      const shared = { id: 'x', created: 1, model: 'm', usage: USAGE }
      if (body.stream !== true) {
        const choices = [{ index: 0, message: { role: 'assistant', content: 'hi' }, finish_reason: 'stop' }]
        response.writeHead(200, { 'content-type': 'application/json' })
        return void response.end(JSON.stringify({ ...shared, object: 'chat.completion', choices }))
      }
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      const choices = [{ index: 0, delta: { role: 'assistant', content: 'hi' }, finish_reason: 'stop' }]
      response.end(
        `data: ${JSON.stringify({ ...shared, object: 'chat.completion.chunk', choices })}\n\ndata: [DONE]\n\n`,
      )
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const base_url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`
  stack = await startStack({
    limits: { keyFileCheckMs: 100, batchGatherMs: 100, batchTickMs: 50, batchPollMs: 100 },
    catalog: {
      providers: [
        {
          id: 'own',
          base_url,
          headers: [
            { name: 'x-team', value: 'blue team' },
            { name: 'x-secret', file: secretFile },
          ],
          query: [{ name: 'api-version', value: '2024-10-21' }],
        },
      ],
      models: [
        {
          id: 'test/small',
          price: BATCH_PRICE,
          endpoints: ['chat', 'messages'],
          routes: [{ provider: 'own', model: 'm' }],
        },
        {
          id: 'test/embed',
          modality: 'embedding',
          endpoints: ['embeddings'],
          price: { input: '1' },
          max_output: undefined,
          routes: [{ provider: 'own', model: 'e' }],
        },
      ],
    },
  })
  apiKey = (await stack.createAccount({ credits: '100' })).apiKey
})
after(async () => {
  await stack.finish()
  await new Promise((resolve) => server.close(resolve))
  removeTempDir(dir)
})

async function embed(): Promise<number> {
  const answer = await fetch(`${stack.baseUrl}/v1/embeddings`, {
    method: 'POST',
    headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'test/embed', input: 'a' }),
  })
  await answer.text()
  return answer.status
}

test('chat, streams, messages and embeddings carry the headers and the query', async () => {
  asked = []
  const body = { model: 'test/small', max_tokens: 5 }
  assert.equal(completion(await chat(stack.baseUrl, apiKey, body)).receipt.status, 'ok')
  assert.equal((await chatStream(stack.baseUrl, apiKey, body)).receipt?.status, 'ok')
  assert.equal((await messages(stack.baseUrl, apiKey, body)).status, 200)
  assert.equal(await embed(), 200)
  const chatPath = '/v1/chat/completions?api-version=2024-10-21'
  assert.deepEqual(asked, [chatPath, chatPath, chatPath, '/v1/embeddings?api-version=2024-10-21'])
})

test('a batch job carries them', async () => {
  asked = []
  const job = await submitted(stack, apiKey, { model: 'test/small' })
  assert.equal((await ended(stack, apiKey, job)).status, 'done')
  assert.deepEqual(asked, ['/v1/chat/completions?api-version=2024-10-21'])
})

test('a replaced secret is sent without a restart', async () => {
  secret = 'second'
  mount('second\n')
  await until('the new secret is sent', async () => (await embed()) === 200)
})
