import type { GatewayError } from '../../contract/errors/errors.ts'

/** An error as a data event of a stream that has begun; clients read the top-level member `error`. */
export function errorEvent(error: GatewayError): string {
  const { message, type, code, param } = error
  return `data: ${JSON.stringify({ error: { message, type, code, param } })}\n\n`
}
