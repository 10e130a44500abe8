import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

/** What an endpoint does with a request: another model of the mock provider to pass it on to, or an answer of its own. */
export type Conduct = string | ((response: ServerResponse, body: Record<string, unknown>) => void)

/** An endpoint as customers register it: `/NAME/v1` lists the model NAME and answers as NAME's conduct says. */
export class RegisteredEndpoint {
  readonly conducts = new Map<string, Conduct>()
  /** How often each was asked. */
  readonly asked = new Map<string, number>()
  /** The keys that came with requests. */
  readonly keys = new Set<string>()
  private readonly mockUrl: string
  private readonly server = createServer((request, response) => void this.serve(request, response))

  /** @param mockUrl of the mock provider, with /v1 */
  constructor(mockUrl: string) {
    this.mockUrl = mockUrl
  }

  async start(): Promise<void> {
    await new Promise<void>((resolve) => this.server.listen(0, '127.0.0.1', resolve))
  }

  stop(): Promise<void> {
    this.server.closeAllConnections()
    return new Promise((resolve) => this.server.close(() => resolve()))
  }

  url(name: string): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}/${name}/v1`
  }

  private async serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const [, name = '', , what] = (request.url ?? '').split('/')
    if (what === 'models') {
      response.end(JSON.stringify({ object: 'list', data: [{ id: name }] }))
      return
    }
    const parts: Buffer[] = []
    for await (const part of request) parts.push(part as Buffer)
    const body = JSON.parse(Buffer.concat(parts).toString()) as Record<string, unknown>
    this.asked.set(name, (this.asked.get(name) ?? 0) + 1)
    this.keys.add(request.headers.authorization ?? '')
    const conduct = this.conducts.get(name) ?? 'chat-small'
    if (typeof conduct === 'function') {
      conduct(response, body)
      return
    }
    const answer = await fetch(`${this.mockUrl}/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: 'Bearer provider-key' },
      body: JSON.stringify({ ...body, model: conduct }),
    })
    response.writeHead(answer.status, { 'content-type': answer.headers.get('content-type') ?? 'application/json' })
    for await (const part of answer.body ?? []) response.write(part)
    response.end()
  }
}
