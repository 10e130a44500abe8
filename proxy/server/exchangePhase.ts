import { assertNext, type PhaseTable } from '../phases.ts'

/**
 * The progress of the answer to a request.
 * - `open`: nothing of it is decided.
 * - `begun`: the status of a stream is decided; its head travels with its first bytes.
 * - `streaming`: the head of a stream is sent.
 * - `ending`: all of it is decided, and its client takes it slowly.
 * - `ended`: it is handed to the server package, or was broken off.
 * - `left`: the client has disconnected before the status was decided.
 * - `gone`: the client has disconnected later.
 */
export type ExchangePhase = 'open' | 'begun' | 'streaming' | 'ending' | 'ended' | 'left' | 'gone'

/** A head is sent once, an answer ends once, and nothing follows once the client has disconnected. */
const NEXT: PhaseTable<ExchangePhase> = {
  open: ['begun', 'ending', 'ended', 'left'],
  begun: ['streaming', 'ending', 'ended', 'gone'],
  streaming: ['ended', 'gone'],
  ending: ['ended', 'gone'],
  ended: ['gone'],
  left: [],
  gone: [],
}

/** @throws PhaseFault where `to` cannot follow `from` */
export function assertExchange(from: ExchangePhase, to: ExchangePhase): void {
  assertNext(NEXT, 'an answer', from, to)
}

/** The client has closed the connection. */
export function isGone(phase: ExchangePhase): boolean {
  return phase === 'gone' || phase === 'left'
}

/** Nothing can be written any more. */
export function isClosed(phase: ExchangePhase): boolean {
  return phase === 'ending' || phase === 'ended' || isGone(phase)
}

/** The status is or was decided. */
export function isBegun(phase: ExchangePhase): boolean {
  return phase !== 'open' && phase !== 'left'
}
