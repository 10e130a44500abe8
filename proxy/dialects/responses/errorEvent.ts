import type { GatewayError } from '../../../contract/errors/errors.ts'

/**
 * The event that reports a fault to a client. Clients look in different places: some want the members at the top, as OpenAI
 * documents them, others below `error`, as OpenAI sends them and Open Responses has it.
 */
export function responseErrorEvent(fault: GatewayError, sequence: number): string {
  const { message, type, code, param } = fault
  const members = { type: 'error', sequence_number: sequence, code, message, param }
  return `event: error\ndata: ${JSON.stringify({ ...members, error: { type, code, message, param } })}\n\n`
}
