import type { Limits } from '../../control/contract/limits.ts'
import type { Provider } from '../catalog/catalog.ts'
import type { UpstreamRequest } from './transport.ts'

/**
 * A POST to a provider, with the time limits of what clients wait for.
 * @param asked its path is below the provider's base path
 */
export function postRequest(
  provider: Provider,
  asked: Pick<UpstreamRequest, 'path' | 'headers' | 'body'>,
  limits: Limits,
  totalTimeoutMs: number,
  fresh: boolean,
): UpstreamRequest {
  return {
    origin: provider.origin,
    host: provider.host,
    path: provider.basePath + asked.path,
    method: 'POST',
    headers: asked.headers,
    body: asked.body,
    connectTimeoutMs: limits.connectTimeoutMs,
    firstByteTimeoutMs: limits.firstByteTimeoutMs,
    idleTimeoutMs: limits.idleTimeoutMs,
    totalTimeoutMs,
    fresh,
  }
}
