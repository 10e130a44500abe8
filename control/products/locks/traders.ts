import { GatewayError } from '../../../contract/errors/errors.ts'
import { isId } from '../../../contract/wire/ids.ts'
import type { ApiCall } from '../../api/call.ts'

/** Refuses sub-keys, which must not see the account's holdings. @throws GatewayError permission_denied */
export function refuseSubKey({ caller }: ApiCall): void {
  if (caller.kind === 'key' && caller.isSubKey) throw new GatewayError('permission_denied')
}

/**
 * Refuses keys with bounds, which tokens would let them get around: tokens are bought once and burnt by every key of the
 * account. @throws GatewayError permission_denied
 */
export function requireTrader({ caller, accountId }: ApiCall): void {
  if (isId('agt', accountId)) {
    throw new GatewayError('permission_denied', { message: 'An agent does not trade; use a credential of its owner.' })
  }
  if (caller.kind !== 'key' || !caller.isRestricted) return
  const message =
    'A key with caps, a budget, a rate, allowlists, privacy settings or an expiry, or without can_transfer, cannot trade; ' +
    'use a session or another key.'
  throw new GatewayError('permission_denied', { message })
}
