import { assertNext, type PhaseTable } from '../phases.ts'

/**
 * The progress of a request over the routes that may serve it.
 * - `ready`: no route was asked yet.
 * - `choosing`: the quota of a route's key is asked for a permit.
 * - `asking`: a route is asked, and the head of its answer has not arrived.
 * - `refusing`: it answers an error status; the body says why.
 * - `answering`: it answers 2xx, and failover is still possible.
 * - `answered`: its answer is whole, and it is not decided yet whether it is usable.
 * - `committed`: its answer counts, and more of it may arrive.
 * - `complete`: its answer counts and is whole.
 * - `over`: nothing more is awaited or told.
 */
export type AttemptPhase =
  | 'ready'
  | 'choosing'
  | 'asking'
  | 'refusing'
  | 'answering'
  | 'answered'
  | 'committed'
  | 'complete'
  | 'over'

/** Another route is asked only before the commit, and an answer is complete once. */
const NEXT: PhaseTable<AttemptPhase> = {
  ready: ['choosing', 'asking', 'over'],
  choosing: ['choosing', 'asking', 'over'],
  asking: ['refusing', 'answering', 'choosing', 'asking', 'over'],
  refusing: ['choosing', 'asking', 'over'],
  answering: ['committed', 'answered', 'choosing', 'asking', 'over'],
  answered: ['complete', 'choosing', 'asking', 'over'],
  committed: ['complete', 'over'],
  complete: ['over'],
  over: [],
}

/** @throws PhaseFault where `to` cannot follow `from` */
export function assertAttempt(from: AttemptPhase, to: AttemptPhase): void {
  assertNext(NEXT, 'an attempt', from, to)
}

/** The answer counts: no other route is asked. */
export function isCommitted(phase: AttemptPhase): boolean {
  return phase === 'committed' || phase === 'complete'
}
