import { GatewayError } from '../../../contract/errors/errors.ts'
import { RPC, type RpcOperation, type RpcReply, type RpcRequestRead } from '../../../contract/wire/rpc.ts'

/** The context of a call, as its operation gets it. */
export interface RpcCall {
  /** When the caller stops waiting for the answer, by the clock of performance.now(). */
  readonly deadlineMs: number
}

/** Answers each operation; a GatewayError reaches the client, everything else is logged and shown as internal_error. */
export type RpcHandlers = {
  readonly [Name in RpcOperation]: (request: RpcRequestRead<Name>, call: RpcCall) => Promise<RpcReply<Name>>
}

/** Decodes a call, runs its handler and encodes the answer. @throws errors of the handler; `notUnderstood` when decoding fails */
export async function callOperation<Name extends RpcOperation>(
  handlers: Partial<RpcHandlers>,
  name: Name,
  payload: Uint8Array,
  call: RpcCall,
): Promise<Uint8Array> {
  const { request, reply } = RPC[name]
  const handler = handlers[name]
  if (handler === undefined) throw notOffered()
  return reply.encode(await handler(readRequest(request, payload), call))
}

/** The refusal of an operation of a product that this process does not run. */
export function notOffered(): GatewayError {
  return new GatewayError('not_found', { message: 'This gateway does not offer this.' })
}

/** The rejection of a call by a proxy of another version. Nothing was done. */
export function notUnderstood(cause?: unknown): GatewayError {
  const message = 'The gateway is being updated; nothing was charged. Try again after Retry-After seconds.'
  return new GatewayError('gateway_restarting', { message, retryAfterSeconds: 1, cause })
}

function readRequest<Message>(codec: { decode(bytes: Uint8Array): Message }, payload: Uint8Array): Message {
  try {
    return codec.decode(payload)
  } catch (cause) {
    throw notUnderstood(cause)
  }
}
