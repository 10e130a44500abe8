import type { ApiAuth } from '../../contract/api/route.ts'
import { GatewayError } from '../../contract/errors/errors.ts'
import { sluice } from '../../contract/wire/generated/messages.js'
import { hashSecret } from '../../contract/wire/ids.ts'
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

const TAKES: Readonly<Record<Exclude<ApiAuth, 'none' | 'open'>, string>> = {
  sign_in: 'a session (ses_...)',
  session: 'a session (ses_...), not an API key',
  key: 'an API key (sk_...), not a session',
  key_or_session: 'an API key (sk_...) or a session (ses_...)',
  optional: 'an API key (sk_...), a session (ses_...) or nothing',
}

/**
 * The credential of a request to the account API. Control decides whether it is in force.
 * @param auth the credential that the endpoint takes
 * @throws GatewayError 401 without a credential or with a foreign one, 403 for another kind
 */
export function readApiCredential(head: RequestHead, auth: ApiAuth): ApiCredential {
  if (auth === 'none' || auth === 'open') return NOBODY
  const bearer = bearerOf(head.authorization)
  const secret = bearer === '' ? head.apiKey : bearer
  if (auth === 'optional' && secret === '' && head.authorization === '') return NOBODY
  const isEither = auth === 'key_or_session' || auth === 'optional'
  const isKey = secret.startsWith('sk_')
  const isSession = secret.startsWith('ses_')
  const fits = isEither ? isKey || isSession : auth === 'key' ? isKey : isSession
  if (!fits && (isKey || isSession || OTHER_FORM.test(secret))) {
    throw new GatewayError('wrong_credential', { message: `This endpoint takes ${TAKES[auth]}.` })
  }
  if (isKey && KEY_FORM.test(secret)) return { kind: sluice.CredentialKind.CREDENTIAL_KEY, hash: hashSecret(secret) }
  if (isSession && SESSION_FORM.test(secret)) {
    return { kind: sluice.CredentialKind.CREDENTIAL_SESSION, hash: hashSecret(secret) }
  }
  if (auth === 'key' || isKey) throw new GatewayError('invalid_api_key')
  if (isEither && !isSession) {
    throw new GatewayError('invalid_api_key', { message: `Send ${TAKES[auth]} as Authorization: Bearer.` })
  }
  throw new GatewayError('invalid_session')
}
