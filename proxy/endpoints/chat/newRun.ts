import type { Principal } from '../../access/principal.ts'
import type { Exchange } from '../../server/exchange.ts'
import type { RunServices } from '../run/services.ts'
import { BodyRun } from './bodyRun.ts'
import { CapturedBodyRun, CapturedStreamRun } from './capturedRuns.ts'
import type { ChatOrder } from './order.ts'
import { StreamRun } from './streamRun.ts'

/**
 * The run of a chat request: a stream or not, and one that captures its content where its key lets it, so that the others have
 * nothing of that.
 * @throws GatewayError 400 for tags that are refused; nothing is held then
 */
export function newRun(
  exchange: Exchange,
  principal: Principal,
  order: ChatOrder,
  services: RunServices,
): BodyRun | StreamRun {
  const { stream } = order.request
  const content = principal.capturesContent ? services.traces?.contentOf(exchange) : undefined
  if (content !== undefined) {
    const Captured = stream ? CapturedStreamRun : CapturedBodyRun
    return new Captured(content, exchange, principal, order, services)
  }
  const Kind = stream ? StreamRun : BodyRun
  return new Kind(exchange, principal, order, services)
}
