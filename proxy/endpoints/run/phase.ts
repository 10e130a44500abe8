/**
 * How far a metered request has come.
 * - `admitting`: its hold is asked for, and before that the leave of an agent's policy.
 * - `calling`: it is held, and a provider is asked; for a batch job control is.
 * - `answering`: a provider answers, and another one may still be asked in its place.
 * - `committed`: the answer counts: its client has seen of it, or its provider bills for it. No other provider is asked.
 * - `ending`: nothing that arrives changes it any more; what it costs is being found, or its hold is still on its way.
 * - `settling`: its hold is out of its hands: in the ledger's with the outcome, or in control's with a batch job.
 * - `done`: it needs nothing more of the process.
 */
export type Phase = 'admitting' | 'calling' | 'answering' | 'committed' | 'ending' | 'settling' | 'done'

/** The phases that may follow each phase. Only `ending` leads to `settling`, once, so that no hold is ended twice. */
const NEXT: Readonly<Record<Phase, readonly Phase[]>> = {
  admitting: ['calling', 'ending', 'done'],
  calling: ['answering', 'ending'],
  answering: ['calling', 'committed', 'ending'],
  committed: ['ending'],
  ending: ['settling', 'done'],
  settling: ['done'],
  done: [],
}

/** The gateway itself took a request where it cannot go. */
export class PhaseFault extends Error {
  constructor(from: Phase, to: Phase) {
    super(`a request that is ${from} cannot be ${to} next`)
  }
}

/** @throws PhaseFault where `to` cannot follow `from` */
export function assertChange(from: Phase, to: Phase): void {
  if (!NEXT[from].includes(to)) throw new PhaseFault(from, to)
}

/** Whether the request is being served: the hold is taken, and the outcome is not decided. */
export function isServed(phase: Phase): boolean {
  return phase === 'calling' || phase === 'answering' || phase === 'committed'
}

/** Whether the end of the request is decided, and nothing that arrives changes it. */
export function isDecided(phase: Phase): boolean {
  return phase === 'ending' || phase === 'settling' || phase === 'done'
}
