import { DIALECT } from '../../../contract/catalog/dialects.ts'
import type { Provider } from '../../catalog/pricedItem.ts'
import { HeaderBlock, jsonHeaders } from '../../upstream/transport/headerBlock.ts'

const JSON_TYPE = 'application/json'

/** The headers of a request to a provider of the OpenAI dialect. Nothing of the client's own headers is passed on. */
export function openaiHeaders(provider: Provider, contentType: string, accept: string): HeaderBlock {
  const make = () => ['content-type', contentType, ...readHeaders(provider, accept)]
  return contentType === JSON_TYPE ? jsonHeaders(provider, accept, make) : new HeaderBlock(make())
}

/** The same for a request without a body. */
export function openaiReadHeaders(provider: Provider, accept: string): HeaderBlock {
  return new HeaderBlock(readHeaders(provider, accept))
}

function readHeaders(provider: Provider, accept: string): string[] {
  const own = Object.entries(DIALECT.openai.headers(provider.apiKey)).flat()
  return ['accept', accept, 'accept-encoding', 'identity', ...own, ...(provider.headers ?? [])]
}
