import { DIALECT } from '../../../contract/catalog/dialects.ts'
import type { Provider } from '../../catalog/pricedItem.ts'
import { type HeaderBlock, jsonHeaders } from '../../upstream/transport/headerBlock.ts'

/**
 * The headers of a request to a provider of the Anthropic dialect. Nothing of the client's own headers is passed on, above
 * all no beta features, which have their own prices.
 */
export function anthropicHeaders(provider: Provider, accept: string): HeaderBlock {
  return jsonHeaders(provider, accept, () => {
    const own = Object.entries(DIALECT.anthropic.headers(provider.apiKey)).flat()
    return [
      'content-type',
      'application/json',
      'accept',
      accept,
      'accept-encoding',
      'identity',
      ...own,
      ...(provider.headers ?? []),
    ]
  })
}
