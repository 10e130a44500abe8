import { GatewayError } from '../../contract/errors/errors.ts'
import type { RequestHead } from '../server/exchange.ts'

const BEARER = 'bearer '

/**
 * The API key of a request: from Authorization: Bearer, or from x-api-key as Messages clients send it.
 * @throws GatewayError invalid_api_key when the key is missing, payment_conflict for two different ones, wrong_credential
 *   for another kind
 */
export function readApiKey(head: RequestHead): string {
  const secret = bearerOf(head.authorization)
  if (secret !== '' && head.apiKey !== '' && secret !== head.apiKey) {
    throw new GatewayError('payment_conflict', {
      message: 'Authorization and x-api-key carry different keys; send one of them.',
    })
  }
  const key = secret === '' ? head.apiKey : secret
  if (key === '') {
    throw new GatewayError('invalid_api_key', {
      message: 'No API key was sent as Authorization: Bearer sk_...; send it so with every request.',
    })
  }
  if (key.startsWith('ses_') || key.startsWith('rt_')) {
    const sent = key.startsWith('rt_') ? 'the read token of a job' : 'a session'
    throw new GatewayError('wrong_credential', { message: `This endpoint takes an API key (sk_...), not ${sent}.` })
  }
  if (!key.startsWith('sk_')) throw new GatewayError('invalid_api_key')
  return key
}

/** The read token of a request, as jobs that were paid per request are read with; '' when it carries none. */
export function readReadToken(head: RequestHead): string {
  const secret = bearerOf(head.authorization)
  return secret.startsWith('rt_') ? secret : ''
}

/** The secret of an Authorization: Bearer header, or an empty string. */
export function bearerOf(authorization: string): string {
  if (authorization.length <= BEARER.length) return ''
  if (authorization.slice(0, BEARER.length).toLowerCase() !== BEARER) return ''
  return authorization.slice(BEARER.length).trim()
}
