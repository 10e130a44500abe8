import type { Handler, Precheck, Sender } from '../../server/exchange.ts'
import type { McpParts } from './parts.ts'

/**
 * POST /mcp. Its code and the library of the protocol are loaded with the first request: they are a third of what a process
 * loads, and most processes never need them.
 */
export function mcpEndpoint(parts: McpParts): Handler {
  let loading: Promise<Handler> | undefined
  return async (exchange, body) => {
    loading ??= import('./handler.ts').then(({ mcpHandler }) => mcpHandler(parts))
    const handler = await loading
    await handler(exchange, body)
  }
}

/** Holders of keys are customers. The handler reports errors of other clients in the form of the protocol. */
export function mcpPrecheck(keyed: Precheck): Precheck {
  const known = (sender: Sender): Sender => (sender === 'customer' ? sender : 'stranger')
  return (head) => {
    const sender = keyed(head)
    return sender instanceof Promise ? sender.then(known) : known(sender)
  }
}
