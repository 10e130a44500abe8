import assert from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import { ScriptedProvider } from '../providers/scriptedProvider.ts'
import { startStack } from '../stack.ts'
import { type Ask, type ReceiptTap, wireClients } from './wireClients.ts'

export interface AnthropicWire {
  /** Asks as a client of a format; the text of the request names a row: `row 3`. */
  ask(format: string, text: string, stream: boolean): ReturnType<Ask>
  /** Audits the books and stops everything. */
  stop(): Promise<void>
}

/**
 * A gateway before a provider of the Anthropic dialect, whose answers a test writes itself.
 * @param answer gets the row that the request names
 */
export async function startAnthropicWire(
  tap: ReceiptTap,
  answer: (row: number, body: Record<string, unknown>, response: ServerResponse) => void,
): Promise<AnthropicWire> {
  const provider = await ScriptedProvider.start({
    wire: (response: ServerResponse, body) =>
      answer(Number(/row (\d+)/.exec(JSON.stringify(body['messages']))?.[1]), body, response),
  })
  const endpoints = ['chat', 'messages', 'responses'] as const
  const stack = await startStack({
    limits: { breakerFailures: 10_000 },
    catalog: {
      providers: [{ id: 'wire', base_url: provider.url, dialect: 'anthropic' }],
      models: [{ id: 'test/wire', endpoints: [...endpoints], routes: [{ provider: 'wire', model: 'wire' }] }],
    },
  })
  const clients: Readonly<Record<string, Ask>> = wireClients(stack.baseUrl, (await stack.createAccount()).apiKey, tap)
  return {
    ask: (format, text, stream) => (clients[format] ?? assert.fail())('test/wire', text, stream),
    stop: async () => {
      await stack.finish()
      await provider.stop()
    },
  }
}
