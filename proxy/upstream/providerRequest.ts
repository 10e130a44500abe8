import { withOwnQuery } from '../../contract/providers/ownParts.ts'
import type { Provider } from '../catalog/pricedItem.ts'
import type { UpstreamLimits } from './limits.ts'
import type { UpstreamRequest } from './transport/transport.ts'

/** A request to a provider; the path is relative to its base path. */
type Asked = Pick<UpstreamRequest, 'path' | 'headers' | 'requestId' | 'body'>

/** A POST to a provider, with the timeouts of requests that clients wait for. */
export function postRequest(
  provider: Provider,
  asked: Asked,
  limits: UpstreamLimits,
  totalTimeoutMs: number,
  fresh: boolean,
): UpstreamRequest {
  return providerRequest('POST', provider, asked, limits, { totalTimeoutMs, fresh })
}

/** A GET from a provider, with the timeouts of requests that clients wait for. */
export function getRequest(provider: Provider, asked: Asked, limits: UpstreamLimits, fresh: boolean): UpstreamRequest {
  return providerRequest('GET', provider, asked, limits, { totalTimeoutMs: limits.totalTimeoutMs, fresh })
}

function providerRequest(
  method: UpstreamRequest['method'],
  provider: Provider,
  asked: Asked,
  limits: UpstreamLimits,
  { totalTimeoutMs, fresh }: Pick<UpstreamRequest, 'totalTimeoutMs' | 'fresh'>,
): UpstreamRequest {
  return {
    origin: provider.origin,
    host: provider.host,
    path: provider.basePath + withOwnQuery(asked.path, provider.query),
    method,
    headers: asked.headers,
    requestId: asked.requestId,
    attempt: 0,
    body: asked.body,
    connectTimeoutMs: limits.connectTimeoutMs,
    firstByteTimeoutMs: limits.firstByteTimeoutMs,
    idleTimeoutMs: limits.idleTimeoutMs,
    totalTimeoutMs,
    fresh,
    publicOnly: provider.publicOnly === true,
    reach: provider.reach,
  }
}
