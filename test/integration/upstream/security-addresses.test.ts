// Goal: nobody makes the gateway, or a provider behind it, reach into a private network by an address: not by one that two
// parsers read differently, nor by a name that resolves anew, nor by a redirect. Method: a whole stack over a provider
// that notes what it gets, and names that a real DNS server on the loopback address answers.
import assert from 'node:assert/strict'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, test } from 'node:test'
import { api, type Json } from '../../support/clients/apiClient.ts'
import { assertError, type Reply } from '../../support/clients/chatClient.ts'
import { callTool, scrapeTool } from '../../support/clients/toolClient.ts'
import { ScriptedProvider } from '../../support/providers/scriptedProvider.ts'
import { ambiguous } from '../../support/samples/addresses.ts'
import { type Stack, startStack } from '../../support/stack.ts'

const PAGE = 'https://93.184.215.14/page'
const OPTED_IN = { allow_retention: true }
const ENDPOINTS = ['chat', 'messages', 'responses']

let stack: Stack
let provider: ScriptedProvider
let trap: { port: number; close: () => void }
let apiKey: string
/** Bodies that the provider got. */
let asked: Json[] = []
/** Where the page reader says that it ended. */
let finalUrl = PAGE
let trapped = 0

async function serve(listener: RequestListener): Promise<typeof trap> {
  const server = createServer(listener)
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  return { port: (server.address() as AddressInfo).port, close: () => server.close() }
}

before(async () => {
  trap = await serve((_request, response) => {
    trapped++
    response.end('{"data":{"url":"https://example.com/","title":"","markdown":"SECRET"}}')
  })
  const answer = (play: string) => ({
    choices: [{ index: 0, message: { role: 'assistant', content: play }, finish_reason: 'stop' }],
    usage: { prompt_tokens: 5, completion_tokens: 1 },
  })
  const chatting =
    (name: string): Parameters<typeof ScriptedProvider.start>[0][string] =>
    (response, body) => {
      asked.push(body)
      response.setHeader('content-type', 'application/json').end(JSON.stringify(answer(name)))
    }
  provider = await ScriptedProvider.start({
    outer: chatting('outer'),
    inner: chatting('inner'),
    page: (response, body) => {
      asked.push(body)
      const data = { url: finalUrl, title: 'T', markdown: 'text' }
      response.setHeader('content-type', 'application/json').end(JSON.stringify({ data }))
    },
    moved: (response) => response.writeHead(302, { location: `http://127.0.0.1:${trap.port}/x` }).end(),
  })
  const outer = { provider: 'outer', model: 'outer' }
  stack = await startStack({
    catalog: {
      providers: [
        { id: 'outer', base_url: provider.url },
        { id: 'inner', base_url: provider.url, private_images: true },
      ],
      models: [
        { id: 'test/outer', endpoints: ENDPOINTS, routes: [outer] },
        { id: 'test/both', endpoints: ENDPOINTS, routes: [outer, { provider: 'inner', model: 'inner' }] },
      ],
      tools: ['page', 'moved'].map((play) => {
        const tool = scrapeTool(`web.${play}`, play)
        return { ...tool, upstream: { ...tool.upstream, base_url: provider.url } }
      }),
    },
  })
  apiKey = (await stack.createAccount()).apiKey
})
after(async () => {
  await stack.finish()
  await provider.stop()
  trap.close()
})

const scrape = (url: string, tool = 'web.page'): Promise<Reply> => {
  asked = []
  return callTool(stack.baseUrl, apiKey, tool, { url, provider: OPTED_IN })
}

test('an address that parsers read differently is not forwarded to the page reader', async () => {
  for (const url of ambiguous(`127.0.0.1:${trap.port}`)) {
    assertError(await scrape(url), 400, 'tool_input_invalid', 'url')
    assert.deepEqual(asked, [], url)
  }
})

test('the page reader gets the address as it was checked', async () => {
  for (const [url, href] of [
    ['HTTPS://93.184.215.14:443/a/../b?q=é', 'https://93.184.215.14/b?q=%C3%A9'],
    ['http:93.184.215.14/x', 'http://93.184.215.14/x'],
    ['http://0x5d.0xb8.0xd70e/x', 'http://93.184.215.14/x'],
    ['http://93.184.215.14#@127.0.0.1/', 'http://93.184.215.14/#@127.0.0.1/'],
  ] as const) {
    const reply = await scrape(url)
    assert.equal(reply.status, 200, reply.text)
    assert.equal(asked[0]?.['url'], href)
  }
})

test('a page that ended at an ambiguous address is not returned', async () => {
  for (const url of [...ambiguous('127.0.0.1'), 'http://127.1/', 'http://[::ffff:7f00:1]/', 'file:///etc/passwd']) {
    finalUrl = url
    assertError(await scrape(PAGE), 502, 'tool_upstream_error')
  }
  finalUrl = PAGE
  assert.equal((await scrape(PAGE)).status, 200)
})

test('a redirect of an upstream is returned as its response and not followed', async () => {
  assertError(await scrape(PAGE, 'web.moved'), 502, 'tool_upstream_error')
  assert.equal(trapped, 0)
})

/** A request with one image by address, in each of the formats: path, field of the address, body. */
const WITH_IMAGE: readonly [path: string, param: string, body: (model: string, url: string, text: string) => Json][] = [
  [
    '/v1/chat/completions',
    'messages[0].content[1].image_url.url',
    (model, url, text) => {
      const content = [
        { type: 'text', text },
        { type: 'image_url', image_url: { url } },
      ]
      return { model, max_tokens: 5, messages: [{ role: 'user', content }] }
    },
  ],
  [
    '/v1/messages',
    'messages[0].content[1].source.url',
    (model, url, text) => {
      const content = [
        { type: 'text', text },
        { type: 'image', source: { type: 'url', url } },
      ]
      return { model, max_tokens: 5, messages: [{ role: 'user', content }] }
    },
  ],
  [
    '/v1/responses',
    'input[0].content[1].image_url',
    (model, url, text) => {
      const content = [
        { type: 'input_text', text },
        { type: 'input_image', image_url: url },
      ]
      return { model, max_output_tokens: 16, input: [{ role: 'user', content }] }
    },
  ],
]

async function ask(at: (typeof WITH_IMAGE)[number], model: string, url: string, text = 'Look'): Promise<Reply> {
  const [path, , body] = at
  asked = []
  const answer = await api(stack.baseUrl, 'POST', path, { token: apiKey, body: body(model, url, text) })
  return answer as unknown as Reply
}

/** The address of the image as the provider got it. */
function imageAsked(): unknown {
  const [{ messages } = { messages: [] }] = asked as { messages: { content: { image_url?: { url: string } }[] }[] }[]
  return messages[0]?.content.find((part) => part.image_url !== undefined)?.image_url?.url
}

/** Of no provider. */
const NO_ADDRESS = [
  'file:///etc/passwd',
  'gopher://127.0.0.1:70/_x',
  'ftp://example.com/a.png',
  'javascript:1',
  '//example.com/a.png',
  'image.png',
  '',
  'https://user:pw@example.com/a.png',
  `https://example.com/${'a'.repeat(2_048)}`,
  ...ambiguous('127.0.0.1').map((url) => url.replace(/^http/, 'https')),
]
/** Of a provider that the catalog lets reach into a network. */
const INSIDE = [
  'http://169.254.169.254/latest/meta-data',
  'http://127.0.0.1/',
  'https://127.0.0.1/a.png',
  'https://10.0.0.7/a.png',
  'https://localhost/a.png',
  'https://nas.local/a.png',
  'https://[::1]/a.png',
  'https://2130706433/a.png',
  'http://example.com/a.png',
  'https://[::ffff:10.0.0.1]/a.png',
  'https://registry/a.png',
]

for (const at of WITH_IMAGE) {
  const [path, param] = at
  test(`an image of ${path} is data or https on the public internet`, async () => {
    for (const url of [...NO_ADDRESS, ...INSIDE]) {
      assertError(await ask(at, 'test/outer', url), 400, null, param)
      assert.deepEqual(asked, [], url)
    }
    for (const url of NO_ADDRESS) assertError(await ask(at, 'test/both', url), 400, null, param)
    const long = `data:image/png;base64,${'A'.repeat(4_000)}`
    for (const url of ['https://example.com/a.png', 'data:image/png;base64,AAAA', long]) {
      const reply = await ask(at, 'test/outer', url)
      assert.equal(reply.status, 200, reply.text)
      assert.equal(imageAsked(), url)
    }
    // A long text makes the proxy pass strings on as the bytes that they came in; never the address of an image.
    assert.equal((await ask(at, 'test/outer', 'HTTPS://Example.com:443/a/../b', 'x'.repeat(4_000))).status, 200)
    assert.equal(imageAsked(), 'https://example.com/b')
  })

  test(`an image of ${path} inside a network is sent only to a provider for which the catalog allows it`, async () => {
    for (const url of INSIDE) {
      const reply = await ask(at, 'test/both', url)
      assert.equal(reply.status, 200, reply.text)
      assert.deepEqual(
        asked.map(({ model }) => model),
        ['inner'],
        url,
      )
    }
    assert.equal((await ask(at, 'test/both', 'https://example.com/a.png')).status, 200)
    assert.deepEqual(
      asked.map(({ model }) => model),
      ['outer'],
    )
  })
}
