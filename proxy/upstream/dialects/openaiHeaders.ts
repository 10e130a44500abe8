import type { Provider } from '../../catalog/catalog.ts'

/**
 * The headers of a request to a provider of the OpenAI dialect: name, value, name, value. Nothing of the client's own
 * headers is passed on.
 */
export function openaiHeaders(provider: Provider, requestId: string, contentType: string, accept: string): string[] {
  return ['content-type', contentType, ...openaiReadHeaders(provider, requestId, accept)]
}

/** The same for a request without a body. */
export function openaiReadHeaders(provider: Provider, requestId: string, accept: string): string[] {
  const headers = ['accept', accept, 'accept-encoding', 'identity', 'x-request-id', requestId]
  if (provider.apiKey !== '') headers.push('authorization', `Bearer ${provider.apiKey}`)
  return headers
}
