import { assertNext, type PhaseTable } from '../../phases.ts'

/**
 * The progress of the leases of a key.
 * - `idle`: no request waits for credits or coin.
 * - `renewing`: the same, and the next call to Redis leases more in advance.
 * - `asking`: requests wait for Redis's answer.
 * - `recalling`: requests wait for the recalled leases of other processes.
 */
export type KeyPhase = 'idle' | 'renewing' | 'asking' | 'recalling'

/** A recall belongs to requests that wait, and ends with their answer. */
const NEXT: PhaseTable<KeyPhase> = {
  idle: ['renewing', 'asking'],
  renewing: ['idle', 'asking'],
  asking: ['idle', 'recalling'],
  recalling: ['idle', 'asking'],
}

/** @throws PhaseFault where `to` cannot follow `from` */
export function assertKey(from: KeyPhase, to: KeyPhase): void {
  assertNext(NEXT, 'a key', from, to)
}
