import { assertNext, type PhaseTable } from '../../phases.ts'

/**
 * The progress of a metered request.
 * - `admitting`: an agent's policy is checked, then the hold is asked for.
 * - `calling`: the hold is taken, and a provider is asked; for a batch job, control.
 * - `answering`: a provider answers, and failover is still possible.
 * - `committed`: the answer counts: the client has received a part of it, or the provider bills for it. No failover.
 * - `ending`: later events are ignored; the cost is being determined, or the answer to the hold is still pending.
 * - `settling`: the hold is handed over: to the ledger with the outcome, or to control with a batch job.
 * - `done`: the process has nothing left to do for it.
 */
export type Phase = 'admitting' | 'calling' | 'answering' | 'committed' | 'ending' | 'settling' | 'done'

/** The phases that may follow each phase. Only `ending` leads to `settling`, once, so that no hold is ended twice. */
const NEXT: PhaseTable<Phase> = {
  admitting: ['calling', 'ending', 'done'],
  calling: ['answering', 'ending'],
  answering: ['calling', 'committed', 'ending'],
  committed: ['ending'],
  ending: ['settling', 'done'],
  settling: ['done'],
  done: [],
}

/** @throws PhaseFault where `to` cannot follow `from` */
export function assertChange(from: Phase, to: Phase): void {
  assertNext(NEXT, 'a request', from, to)
}

/** Whether the request is being served: the hold is taken, and the outcome is not decided. */
export function isServed(phase: Phase): boolean {
  return phase === 'calling' || phase === 'answering' || phase === 'committed'
}

/** Whether the end of the request is decided, and nothing that arrives changes it. */
export function isDecided(phase: Phase): boolean {
  return phase === 'ending' || phase === 'settling' || phase === 'done'
}
