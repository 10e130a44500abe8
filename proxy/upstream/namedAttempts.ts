import type { AttemptIds } from '../../contract/wire/attemptIds.ts'
import type { Transport, UpstreamCall, UpstreamListener, UpstreamRequest } from './transport/transport.ts'

/**
 * The last step on the way out: providers see an id of the attempt in place of the request id, by which anybody could read the
 * receipt.
 */
export class NamedAttempts implements Transport {
  private readonly inner: Transport
  private readonly ids: AttemptIds

  constructor(inner: Transport, ids: AttemptIds) {
    this.inner = inner
    this.ids = ids
  }

  send(request: UpstreamRequest, listener: UpstreamListener): UpstreamCall {
    // Copies of all these members would cost more than the id.
    request.requestId = this.ids.of(request.requestId, request.attempt ?? 0)
    return this.inner.send(request, listener)
  }

  close(): Promise<void> {
    return this.inner.close()
  }
}
