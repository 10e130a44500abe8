import type { GatewayError } from '../../../contract/errors/errors.ts'

/** The event that ends every good Messages stream. */
export const MESSAGE_END = anthropicEvent('message_stop', {})

/** An event of a Messages stream; clients go by its name and skip those that have none. */
export function anthropicEvent(type: string, members: object): string {
  return `event: ${type}\ndata: ${JSON.stringify({ type, ...members })}\n\n`
}

/** An error within a Messages stream, after which nothing follows but the receipt. */
export function anthropicErrorEvent({ message, type, code, param }: GatewayError): string {
  return anthropicEvent('error', { error: { type, message, code, param } })
}
