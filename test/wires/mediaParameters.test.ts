// Goal: members of requests beside chat reach the providers that know them, and the answer names those that no provider got.
import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, describe, test } from 'node:test'
import { VECTOR_MEMBERS } from '../../contract/catalog/requestForm.ts'
import { parseJsonObject } from '../../contract/std/jsonObject.ts'
import { mediaModel, postForm, postJson } from '../support/clients/mediaClient.ts'
import { type Stack, startStack } from '../support/stack.ts'

const ANSWERS: Readonly<Record<string, object>> = {
  embeddings: { data: [{ embedding: [0.5] }], usage: { prompt_tokens: 1 } },
  rerank: { results: [{ index: 0, relevance_score: 0.5 }] },
  generations: { data: [{ b64_json: 'AAAA' }] },
  edits: { data: [{ b64_json: 'AAAA' }] },
}
const PNG = Buffer.from('89504e470d0a1a0a', 'hex')
const TASKS = { input_type: 'query', truncate: 'END', truncation: false, truncate_prompt_tokens: 5, task: 'retrieval' }

let stack: Stack
let apiKey: string
let got: Record<string, unknown> | null
const server = createServer((request, response) => {
  const parts: Buffer[] = []
  request.on('data', (part: Buffer) => parts.push(part))
  request.on('end', () => {
    got = parseJsonObject(Buffer.concat(parts).toString('utf8'))
    const answer = ANSWERS[request.url?.split('/').at(-1) ?? '']
    response.writeHead(200, { 'content-type': answer === undefined ? 'audio/mpeg' : 'application/json' })
    response.end(answer === undefined ? 'sound' : JSON.stringify(answer))
  })
})

before(async () => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`
  const kinds = ['embedding', 'rerank', 'image', 'speech'] as const
  stack = await startStack({
    catalog: {
      providers: [
        { id: 'plain', base_url: baseUrl },
        { id: 'taking', base_url: baseUrl, extra_members: [...VECTOR_MEMBERS] },
      ],
      models: ['plain', 'taking'].flatMap((provider) =>
        kinds.map((kind) => mediaModel(`${provider}/${kind}`, kind, 'm', { routes: [{ provider, model: 'm' }] })),
      ),
    },
  })
  apiKey = (await stack.createAccount({ credits: '100' })).apiKey
})

after(async () => {
  await stack.finish()
  server.closeAllConnections()
  await new Promise((resolve) => server.close(resolve))
})

/** The names of the members that were not sent on, as the answer says. */
async function dropped(path: string, body: object): Promise<string | null> {
  const reply = await postJson(`${stack.baseUrl}/v1/${path}`, apiKey, body)
  assert.equal(reply.status, 200, reply.text)
  return reply.headers.get('x-dropped-parameters')
}

const REQUESTS: readonly (readonly [path: string, kind: string, body: object])[] = [
  ['embeddings', 'embedding', { input: 'a', dimensions: 1, encoding_format: 'float', user: 'u', metadata: { a: 'b' } }],
  ['rerank', 'rerank', { query: 'q', documents: ['a'], top_n: 1, return_documents: true }],
  ['images/generations', 'image', { prompt: 'x', n: 1, response_format: 'b64_json', user: 'u' }],
  ['audio/speech', 'speech', { input: 'a', voice: 'v', speed: 1, response_format: 'mp3', instructions: 'slow' }],
]

describe('members of requests beside chat', () => {
  for (const [path, kind, body] of REQUESTS) {
    test(`those of ${path} are no reason for the header`, async () => {
      assert.equal(
        await dropped(path, { model: `plain/${kind}`, provider: {}, batch: false, foo: null, ...body }),
        null,
      )
    })

    test(`those that no provider of ${path} gets are named`, async () => {
      assert.equal(await dropped(path, { model: `plain/${kind}`, quality: 'high', 'a,b': 1, ...body }), 'quality')
    })
  }

  for (const [path, kind, body] of REQUESTS.slice(0, 2)) {
    test(`the use of a text reaches a provider of ${path} that knows it`, async () => {
      assert.equal(await dropped(path, { model: `taking/${kind}`, ...TASKS, ...body }), null)
      assert.deepEqual({ ...got, ...TASKS }, got)
      const names = Object.keys(TASKS).join(', ')
      assert.equal(await dropped(path, { model: `plain/${kind}`, ...TASKS, ...body }), names)
      assert.deepEqual(
        Object.keys(TASKS).filter((name) => name in (got ?? {})),
        [],
      )
    })

    test(`values that are no use of a text do not reach a provider of ${path}`, async () => {
      const others = { input_type: { a: 1 }, task: ['b'], truncate: 'x'.repeat(100_000) }
      assert.equal(await dropped(path, { model: `taking/${kind}`, ...others, ...body }), 'input_type, task, truncate')
      assert.deepEqual(
        Object.keys(others).filter((name) => name in (got ?? {})),
        [],
      )
    })
  }

  test('fields of a form are named as well', async () => {
    const form = { model: 'plain/image', prompt: 'x', image: PNG, quality: 'high', 'tags[]': ['a', 'b'] }
    const reply = await postForm(`${stack.baseUrl}/v1/images/edits`, apiKey, form)
    assert.equal(reply.status, 200, reply.text)
    assert.equal(reply.headers.get('x-dropped-parameters'), 'quality, tags')
  })
})
