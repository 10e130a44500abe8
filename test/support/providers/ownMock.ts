import assert from 'node:assert/strict'
import { after, before } from 'node:test'
import { type Provider, type Served, startProvider } from '../../../mock/main.ts'

/** The mock provider of the tests of one file, without a gateway before it. */
export interface OwnMock {
  readonly provider: Provider
  /** What it served so far. */
  readonly served: readonly Served[]
  ask(model: string, fields?: Record<string, unknown>, signal?: AbortSignal): Promise<Response>
  lastServed(): Served
}

/** Starts it before the tests of the file, and stops it behind them. */
export function ownMock(): OwnMock {
  let provider: Provider
  const served: Served[] = []
  before(async () => {
    provider = await startProvider({ port: 0, onServed: (line) => served.push(line) })
  })
  after(() => provider.stop())
  return {
    served,
    get provider() {
      return provider
    },
    ask: (model, fields = {}, signal) =>
      fetch(`http://127.0.0.1:${provider.port}/v1/chat/completions`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'x-request-id': 'req_TEST', authorization: 'Bearer secret' },
        body: JSON.stringify({ model, messages: [{ role: 'user', content: 'hello' }], ...fields }),
        ...(signal === undefined ? {} : { signal }),
      }),
    lastServed: () => {
      const line = served.at(-1)
      assert.ok(line !== undefined)
      return line
    },
  }
}

/** The fields of a request for a stream that ends with what it used. */
export const streamed = { stream: true, stream_options: { include_usage: true } }
