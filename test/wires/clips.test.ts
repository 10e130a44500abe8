// Goal: a clip that was paid reaches its client where the provider keeps it in a store, and a provider cannot make the gateway
// ask servers that are none of its business. Method: a scripted provider whose content leads elsewhere.
import assert from 'node:assert/strict'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, describe, test } from 'node:test'
import { parseJsonObject } from '../../contract/std/jsonObject.ts'
import { contentReply, newVideo, videoIn, videoModel } from '../support/clients/videoClient.ts'
import { type Stack, startStack } from '../support/stack.ts'

const REDIRECTS_MAX = 3
const CLIP = 'the clip'

/** The answers for the content of a clip, by the name of its model. */
const CONTENTS: Readonly<Record<string, (response: ServerResponse, other: string) => void>> = {
  ...Object.fromEntries(
    [301, 302, 303, 307, 308].map((status) => [`moved-${status}`, leads('/store/clip?signature=a%2Fb', status)]),
  ),
  'moved-whole': (response) => leads(`${provider.url}/store/clip?signature=a%2Fb`)(response),
  'moved-twice': leads('/v1/videos/moved-302/content'),
  'moved-for-ever': leads('/v1/videos/moved-for-ever/content'),
  'to-inner': (response, other) => leads(`${other}/store/clip`)(response),
  'to-inner-tls': leads('https://127.0.0.1/store/clip'),
  'to-metadata': leads('http://169.254.169.254/latest/meta-data'),
  'to-name': leads('https://metadata.google.internal/x'),
  'to-file': leads('file:///etc/passwd'),
  'to-nowhere': (response) => void response.writeHead(302).end('see elsewhere'),
}
const DELIVERED = ['moved-301', 'moved-302', 'moved-303', 'moved-307', 'moved-308', 'moved-whole', 'moved-twice']

function leads(location: string, status = 302) {
  return (response: ServerResponse): void => void response.writeHead(status, { location }).end('moved')
}

interface Asked {
  readonly url: string
  readonly authorization: string | undefined
}

/** A server that notes what it is asked. */
class Server {
  readonly asked: Asked[] = []
  private readonly server: ReturnType<typeof createServer>

  constructor(answer: (request: IncomingMessage, response: ServerResponse, body: string) => void) {
    this.server = createServer((request, response) => {
      const parts: Buffer[] = []
      this.asked.push({ url: request.url ?? '', authorization: request.headers.authorization })
      request.on('data', (part: Buffer) => parts.push(part))
      request.on('end', () => answer(request, response, Buffer.concat(parts).toString('utf8')))
    })
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`
  }

  listen(): Promise<void> {
    return new Promise((resolve) => this.server.listen(0, '127.0.0.1', resolve))
  }

  close(): Promise<void> {
    this.server.closeAllConnections()
    return new Promise((resolve) => this.server.close(() => resolve()))
  }
}

let stack: Stack
let apiKey: string
const other = new Server((_request, response) => void response.end('secret'))
const provider = new Server((request, response, body) => {
  const path = new URL(request.url ?? '', provider.url).pathname
  const name = /^\/v1\/videos\/([\w-]+)\/content$/.exec(path)?.[1]
  if (path.startsWith('/store/')) response.writeHead(200, { 'content-type': 'video/mp4' }).end(CLIP)
  else if (name !== undefined) CONTENTS[name]?.(response, other.url)
  else response.end(JSON.stringify({ id: parseJsonObject(body)?.['model'], status: 'completed', seconds: '4' }))
})

before(async () => {
  await Promise.all([provider.listen(), other.listen()])
  stack = await startStack({
    catalog: {
      providers: [{ id: 'scripted', base_url: `${provider.url}/v1` }],
      models: Object.keys(CONTENTS).map((model) =>
        videoModel(`test/${model}`, '', { routes: [{ provider: 'scripted', model }] }),
      ),
    },
    limits: { videoRedirectsMax: REDIRECTS_MAX },
  })
  apiKey = (await stack.createAccount({ credits: '100' })).apiKey
})

after(async () => {
  await stack.finish()
  await Promise.all([provider.close(), other.close()])
})

describe('a clip that is elsewhere', () => {
  for (const name of Object.keys(CONTENTS)) {
    test(name, async () => {
      const { id } = await newVideo(stack.baseUrl, apiKey, { model: `test/${name}` })
      await videoIn(stack.baseUrl, apiKey, id, ['completed'])
      provider.asked.length = 0
      const reply = await contentReply(stack.baseUrl, apiKey, id)
      if (!DELIVERED.includes(name)) assert.equal(reply.status, 502, reply.text)
      else {
        assert.deepEqual([reply.status, reply.text], [200, CLIP])
        assert.equal(provider.asked.at(-1)?.url, '/store/clip?signature=a%2Fb')
        // The store of the provider's own origin is asked as the provider is.
        assert.equal(new Set(provider.asked.map(({ authorization }) => authorization)).size, 1)
      }
      assert.ok(provider.asked.length <= 1 + REDIRECTS_MAX)
      assert.deepEqual(other.asked, [])
    })
  }
})
