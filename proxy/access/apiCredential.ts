import type { ApiAuth } from '../../control/contract/api/route.ts'
import { GatewayError } from '../../control/contract/errors.ts'
import { sluice } from '../../control/contract/generated/messages.js'
import { hashSecret } from '../../control/contract/ids.ts'
import type { RequestHead } from '../server/exchange.ts'
import { bearerOf } from './credential.ts'

/** A credential as it is passed on to control. */
export interface ApiCredential {
  readonly kind: sluice.CredentialKind
  /** As in `hashSecret`; empty without a credential. */
  readonly hash: string
}

const NOBODY: ApiCredential = { kind: sluice.CredentialKind.CREDENTIAL_NONE, hash: '' }
/** Secrets as `newSecret` makes them. */
const KEY_FORM = /^sk_[0-9A-Za-z]{43}$/
const SESSION_FORM = /^ses_[0-9A-Za-z]{43}$/
const OTHER_FORM = /^rt_/

const TAKES: Readonly<Record<Exclude<ApiAuth, 'none'>, string>> = {
  sign_in: 'a session (ses_...)',
  session: 'a session (ses_...), not an API key',
  key: 'an API key (sk_...), not a session',
  key_or_session: 'an API key (sk_...) or a session (ses_...)',
}

/**
 * The credential of a request to the account API. Whether it is in force is for control to say.
 * @param auth what the endpoint takes
 * @throws GatewayError 401 without a credential or with none of ours, 403 for another kind, 400 for two of them
 */
export function readApiCredential(head: RequestHead, auth: ApiAuth): ApiCredential {
  if (auth === 'none') return NOBODY
  const bearer = bearerOf(head.authorization)
  if (bearer !== '' && head.apiKey !== '' && bearer !== head.apiKey) {
    throw new GatewayError('payment_conflict', { message: 'Two credentials were sent; send one of them.' })
  }
  const secret = bearer === '' ? head.apiKey : bearer
  const isKey = secret.startsWith('sk_')
  const isSession = secret.startsWith('ses_')
  const fits = auth === 'key_or_session' ? isKey || isSession : auth === 'key' ? isKey : isSession
  if (!fits && (isKey || isSession || OTHER_FORM.test(secret))) {
    throw new GatewayError('wrong_credential', { message: `This endpoint takes ${TAKES[auth]}.` })
  }
  if (isKey && KEY_FORM.test(secret)) return { kind: sluice.CredentialKind.CREDENTIAL_KEY, hash: hashSecret(secret) }
  if (isSession && SESSION_FORM.test(secret)) {
    return { kind: sluice.CredentialKind.CREDENTIAL_SESSION, hash: hashSecret(secret) }
  }
  if (auth === 'key' || isKey) throw new GatewayError('invalid_api_key')
  if (auth === 'key_or_session' && !isSession) {
    throw new GatewayError('invalid_api_key', { message: `Send ${TAKES[auth]} as Authorization: Bearer.` })
  }
  throw new GatewayError('invalid_session')
}
