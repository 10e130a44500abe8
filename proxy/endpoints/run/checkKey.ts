import { GatewayError } from '../../../control/contract/errors.ts'
import { readApiKey } from '../../access/credential.ts'
import type { Principal } from '../../access/principal.ts'
import type { RequestHead } from '../../server/exchange.ts'

/** Refuses a request without a credential of the right form, before its body is taken. */
export function credentialPrecheck(head: RequestHead): GatewayError | undefined {
  try {
    readApiKey(head)
    return undefined
  } catch (error) {
    if (error instanceof GatewayError) return error
    throw error
  }
}

/** @throws GatewayError key_paused, or invalid_api_key for a key past its time */
export function checkKey(principal: Principal, nowMs: number): void {
  if (principal.paused) throw new GatewayError('key_paused')
  if (principal.expiresAtMs !== 0 && principal.expiresAtMs <= nowMs) {
    throw new GatewayError('invalid_api_key', { message: 'This API key has expired; create a new one.' })
  }
}
