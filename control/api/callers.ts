import type { ApiAuth } from '../../contract/api/route.ts'
import { GatewayError } from '../../contract/errors/errors.ts'
import { sluice } from '../../contract/wire/generated/messages.js'
import { type Actor, OPERATOR } from '../runtime/activity/activity.ts'
import type { Caller } from './call.ts'

/** The caller as the audit trail names it. */
export function actorOf(caller: Caller | undefined): Actor {
  if (caller?.kind === 'session') return { kind: 'wallet', id: caller.address }
  if (caller?.kind === 'key') return { kind: 'key', id: caller.keyId }
  return caller?.kind === 'operator' ? OPERATOR : { kind: 'wallet', id: '' }
}

/** The caller's account, or its wallet where that is not linked to one. */
export function ownerOf(caller: Exclude<Caller, { kind: 'nobody' }>): string {
  return caller.accountId || (caller.kind === 'session' ? caller.address : '')
}

/**
 * Checks that a route accepts this caller. The proxies already reject the wrong kinds of credentials; control does not rely on
 * that.
 * @param caller undefined when the credential that was sent is unknown
 * @param sent the kind of that credential
 * @param noteRefusal called when the credential is invalid; it may reject the request itself
 * @returns the caller's account; empty where the route does not ask for one
 * @throws GatewayError 401 or 403
 */
export function checkCaller(
  auth: ApiAuth,
  caller: Caller | undefined,
  sent: sluice.CredentialKind,
  noteRefusal: () => void,
): string {
  if (auth === 'none' || auth === 'open' || (auth === 'optional' && caller?.kind === 'nobody')) return ''
  if (caller === undefined || caller.kind === 'nobody') {
    noteRefusal()
    const isKey = sent === sluice.CredentialKind.CREDENTIAL_KEY || auth === 'key'
    const [code, what] = isKey ? (['invalid_api_key', 'API key'] as const) : (['invalid_session', 'session'] as const)
    throw new GatewayError(code, {
      message: `The ${what} is missing, not known, expired or ended; send one that is in force.`,
    })
  }
  const isFitting = auth === 'key_or_session' || auth === 'optional' || (auth === 'key') === (caller.kind === 'key')
  if (!isFitting) throw new GatewayError('wrong_credential')
  if (auth !== 'sign_in' && auth !== 'optional' && caller.accountId === '') throw new GatewayError('account_not_linked')
  return caller.accountId
}
