import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

/** A key as its provider knows it. */
export interface KnownKey {
  /** Requests that it may still send in this minute; absent is any number. */
  left?: number
  /** Requests that it may send in any minute, and when it sent them; absent is any number. */
  perMinute?: { readonly most: number; readonly sentAtMs: number[] }
  /** Requests that were served with it. */
  served: number
  /** Requests that were refused. */
  refused: number
}

const ANSWER = JSON.stringify({
  id: 'x',
  object: 'chat.completion',
  created: 1,
  model: 'x',
  choices: [{ index: 0, message: { role: 'assistant', content: 'ok' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 5, completion_tokens: 1, total_tokens: 6 },
})

/** A provider that enforces its keys: 401 for one that it does not know, 429 for one whose quota is used up. */
export class KeyedProvider {
  /** By secret. */
  readonly keys = new Map<string, KnownKey>()
  readonly url: string
  /** Answers wait until `release`. */
  holds = false
  private readonly held: (() => void)[] = []
  private readonly server: ReturnType<typeof createServer>

  private constructor(server: ReturnType<typeof createServer>) {
    this.server = server
    this.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`
  }

  static async start(): Promise<KeyedProvider> {
    const server = createServer()
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const provider = new KeyedProvider(server)
    server.on('request', (request, response: ServerResponse) => {
      request.resume().on('end', () => {
        if (provider.holds) provider.held.push(() => provider.answer(request, response))
        else provider.answer(request, response)
      })
    })
    return provider
  }

  /** Lets a secret in. @param left requests that it may send; absent is any number */
  allow(secret: string, left?: number): KnownKey {
    const key: KnownKey = { served: 0, refused: 0, ...(left !== undefined && { left }) }
    this.keys.set(secret, key)
    return key
  }

  /** Requests whose answers wait. */
  get waiting(): number {
    return this.held.length
  }

  release(): void {
    this.holds = false
    for (const answer of this.held.splice(0)) answer()
  }

  stop(): Promise<void> {
    this.server.closeAllConnections()
    return new Promise((resolve) => this.server.close(() => resolve()))
  }

  private answer({ headers }: IncomingMessage, response: ServerResponse): void {
    const key = this.keys.get(headers.authorization?.replace('Bearer ', '') ?? '')
    const json = { 'content-type': 'application/json' }
    if (key === undefined) {
      response.writeHead(401, json).end('{"error":{"message":"Incorrect API key provided","code":"invalid_api_key"}}')
      return
    }
    if (key.left === 0 || isUsedUp(key)) {
      key.refused++
      response.writeHead(429, { ...json, 'retry-after': '30' }).end('{"error":{"code":"rate_limit_exceeded"}}')
      return
    }
    if (key.left !== undefined) key.left--
    key.perMinute?.sentAtMs.push(Date.now())
    key.served++
    response.writeHead(200, json).end(ANSWER)
  }
}

function isUsedUp({ perMinute }: KnownKey): boolean {
  if (perMinute === undefined) return false
  const { most, sentAtMs } = perMinute
  while ((sentAtMs[0] ?? Number.POSITIVE_INFINITY) <= Date.now() - 60_000) sentAtMs.shift()
  return sentAtMs.length >= most
}
