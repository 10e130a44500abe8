import type { Provider } from '../../catalog/pricedItem.ts'
import { type HeaderBlock, jsonHeaders } from '../../upstream/transport/headerBlock.ts'

/** The version of the wire format to providers, independent of the version that a client names. */
const VERSION = '2023-06-01'

/**
 * The headers of a request to a provider of the Anthropic dialect. Nothing of the client's own headers is passed on, above
 * all no beta features, which have prices of their own.
 */
export function anthropicHeaders(provider: Provider, accept: string): HeaderBlock {
  return jsonHeaders(provider, accept, () => {
    const headers = [
      'content-type',
      'application/json',
      'accept',
      accept,
      'accept-encoding',
      'identity',
      'anthropic-version',
      VERSION,
    ]
    if (provider.apiKey !== '') headers.push('x-api-key', provider.apiKey)
    return headers
  })
}
