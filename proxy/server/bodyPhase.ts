import { assertNext, type PhaseTable } from '../phases.ts'

/**
 * The progress of a request body.
 * - `unchecked`: it arrives, as the body of a stranger.
 * - `checking`: its sender is being checked; bytes that were read already still arrive.
 * - `paused`: the same, and the connection is not read.
 * - `checked`: it arrives, and its sender was checked.
 * - `arrived`: an upload is whole, and its memory is in use.
 * - `released`: its memory is free.
 */
export type BodyPhase = 'unchecked' | 'checking' | 'paused' | 'checked' | 'arrived' | 'released'

/** A sender is checked at most once, and memory is released once. */
const NEXT: PhaseTable<BodyPhase> = {
  unchecked: ['checking', 'checked', 'arrived', 'released'],
  checking: ['paused', 'checked', 'arrived', 'released'],
  paused: ['checked', 'arrived', 'released'],
  checked: ['arrived', 'released'],
  arrived: ['released'],
  released: [],
}

/** @throws PhaseFault where `to` cannot follow `from` */
export function assertBody(from: BodyPhase, to: BodyPhase): void {
  assertNext(NEXT, 'a body', from, to)
}

/** It is not known yet who sends it. */
export function isPending(phase: BodyPhase): boolean {
  return phase === 'checking' || phase === 'paused'
}
