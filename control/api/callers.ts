import type { Actor } from '../activity/activity.ts'
import type { ApiAuth } from '../contract/api/route.ts'
import { GatewayError } from '../contract/errors.ts'
import type { Caller } from './call.ts'

/** The caller as the audit trail names it. */
export function actorOf(caller: Caller | undefined): Actor {
  if (caller?.kind === 'session') return { kind: 'wallet', id: caller.address }
  if (caller?.kind === 'key') return { kind: 'key', id: caller.keyId }
  return { kind: 'wallet', id: '' }
}

/**
 * Whether a route takes this caller. The proxies refuse the wrong kinds of credentials already; control does not rely
 * on that.
 * @param caller undefined when nobody has the credential that was sent
 * @param noteRefusal called when the credential is none
 * @returns the caller's account; empty where the route does not ask for one
 * @throws GatewayError 401 or 403
 */
export function checkCaller(auth: ApiAuth, caller: Caller | undefined, noteRefusal: () => void): string {
  if (auth === 'none') return ''
  if (caller === undefined || caller.kind === 'nobody') {
    noteRefusal()
    throw new GatewayError(auth === 'key' ? 'invalid_api_key' : 'invalid_session', {
      message: 'The credential is missing, not known, expired or ended; send one that is in force.',
    })
  }
  const isFitting = auth === 'key_or_session' || (auth === 'key') === (caller.kind === 'key')
  if (!isFitting) throw new GatewayError('wrong_credential')
  if (auth !== 'sign_in' && caller.accountId === '') throw new GatewayError('account_not_linked')
  return caller.accountId
}
