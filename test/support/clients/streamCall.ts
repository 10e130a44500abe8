import { type ClientRequest, type IncomingMessage, request } from 'node:http'
import { type Receipt, type StreamReply, takeApart } from './chatClient.ts'

/** A chat stream on a connection of its own, read as it comes; that it breaks off is no error. */
export class StreamCall {
  status = 0
  /** When each piece came that was read, by performance.now(). */
  readonly pieceTimesMs: number[] = []
  private text = ''
  private readonly call: ClientRequest
  private readonly ended: Promise<void>
  private headers = new Headers()

  constructor(baseUrl: string, apiKey: string, body: object) {
    this.call = request(`${baseUrl}/v1/chat/completions`, {
      agent: false,
      method: 'POST',
      headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
    })
    this.ended = new Promise((resolve) => {
      this.call.on('response', (response) => this.read(response))
      this.call.on('error', () => resolve())
      this.call.on('close', () => resolve())
    })
    this.call.end(JSON.stringify({ stream: true, messages: [{ role: 'user', content: 'hello' }], ...body }))
  }

  /** Some of the answer has come. */
  get hasBegun(): boolean {
    return this.text.includes('"content"')
  }

  get requestId(): string {
    return this.headers.get('x-request-id') ?? ''
  }

  /** Resolves when the answer has ended, or its connection. */
  async reply(): Promise<StreamReply> {
    await this.ended
    return takeApart({ status: this.status, headers: this.headers, text: this.text })
  }

  /** The receipt that it was shown so far; null without one. */
  get receipt(): Receipt | null {
    const [, json] = /^: receipt (.*)\n/m.exec(this.text) ?? []
    return json === undefined ? null : (JSON.parse(json) as Receipt)
  }

  private read(response: IncomingMessage): void {
    this.status = response.statusCode ?? 0
    this.headers = new Headers(
      Object.entries(response.headers).map(([name, value]): [string, string] => [name, String(value)]),
    )
    response.setEncoding('utf8')
    response.on('data', (piece: string) => {
      this.text += piece
      this.pieceTimesMs.push(performance.now())
    })
    response.on('error', () => undefined)
  }
}
