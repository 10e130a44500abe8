import { GatewayError } from '../../../contract/errors/errors.ts'
import { readApiKey } from '../../access/credential.ts'
import type { KeyCache } from '../../access/keyCache.ts'
import type { Principal } from '../../access/principal.ts'
import type { Precheck, Sender } from '../../server/exchange.ts'

/** Looks up the key of a request, before its body is taken; without a key that is in force it is refused. */
export function keyPrecheck(keys: Pick<KeyCache, 'find'>): Precheck {
  return (head) => {
    const nowMs = Date.now()
    const senderOf = (principal: Principal): Sender => {
      checkKey(principal, nowMs)
      return 'customer'
    }
    try {
      const found = keys.find(readApiKey(head), nowMs)
      return found instanceof Promise ? found.then(senderOf).catch(refusalOf) : senderOf(found)
    } catch (error) {
      return refusalOf(error)
    }
  }
}

function refusalOf(error: unknown): GatewayError {
  if (error instanceof GatewayError) return error
  throw error
}

/** @throws GatewayError key_paused, or invalid_api_key for a key past its time */
export function checkKey(principal: Principal, nowMs: number): void {
  if (principal.paused) throw new GatewayError('key_paused')
  if (principal.expiresAtMs !== 0 && principal.expiresAtMs <= nowMs) {
    throw new GatewayError('invalid_api_key', { message: 'This API key has expired; create a new one.' })
  }
}
