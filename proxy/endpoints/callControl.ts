import { GatewayError } from '../../contract/errors/errors.ts'
import { ControlUnavailable, type RpcClient } from '../bus/rpcClient.ts'

/**
 * Calls control for a client that waits.
 * @throws GatewayError as control answered, or admission_unavailable when it did not
 */
export async function callControl(rpc: RpcClient, operation: string, payload: Uint8Array): Promise<Uint8Array> {
  try {
    return await rpc.call(operation, payload)
  } catch (error) {
    if (!(error instanceof ControlUnavailable)) throw error
    throw new GatewayError('admission_unavailable', { retryAfterSeconds: 1, cause: error })
  }
}
