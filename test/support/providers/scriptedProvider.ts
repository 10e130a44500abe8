import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

/** Answers one request for a model; the body is parsed. */
export type Play = (response: ServerResponse, body: Record<string, unknown>, request: IncomingMessage) => void

/** A provider whose answers a test writes byte by byte, for what the mock provider has no option for. */
export class ScriptedProvider {
  readonly url: string
  private readonly server: ReturnType<typeof createServer>

  private constructor(server: ReturnType<typeof createServer>) {
    this.server = server
    this.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`
  }

  /** @param plays by the model name that is asked for */
  static async start(plays: Readonly<Record<string, Play>>): Promise<ScriptedProvider> {
    const server = createServer((request, response) => {
      const parts: Buffer[] = []
      request.on('data', (part: Buffer) => parts.push(part))
      request.on('end', () => {
        const body = JSON.parse(Buffer.concat(parts).toString('utf8')) as Record<string, unknown>
        plays[String(body['model'])]?.(response, body, request)
      })
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    return new ScriptedProvider(server)
  }

  stop(): Promise<void> {
    this.server.closeAllConnections()
    return new Promise((resolve) => this.server.close(() => resolve()))
  }
}

/** Begins an event stream. */
export function beginEvents(response: ServerResponse): void {
  response.writeHead(200, { 'content-type': 'text/event-stream' })
}

/** Writes an object as one event. */
export function event(response: ServerResponse, value: unknown): void {
  response.write(`data: ${JSON.stringify(value)}\n\n`)
}

/** A chunk with this delta. */
export function chunk(delta: unknown, finish: string | null = null): unknown {
  return {
    id: 'up',
    object: 'chat.completion.chunk',
    created: 1,
    model: 'm',
    choices: [{ index: 0, delta, finish_reason: finish }],
  }
}
