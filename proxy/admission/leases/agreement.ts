import { assertNext, type PhaseTable } from '../../phases.ts'

/**
 * Whether this process and Redis agree on the leases of a shard.
 * - `agreed`: they do.
 * - `unsure`: the answer to a call was lost; this process asks what Redis has out.
 * - `unreported`: Redis does not know what is out; this process reports it.
 */
export type AgreementPhase = 'agreed' | 'unsure' | 'unreported'

/** A report answers every doubt; a doubt does not replace a report that is due. */
const NEXT: PhaseTable<AgreementPhase> = {
  agreed: ['unsure', 'unreported'],
  unsure: ['agreed', 'unreported'],
  unreported: ['agreed'],
}

/** The agreement of this process and Redis on the leases of a shard. */
export class Agreement {
  private current: AgreementPhase = 'agreed'

  get phase(): AgreementPhase {
    return this.current
  }

  /** The answer to a call was lost. */
  doubt(): void {
    if (this.current === 'agreed') this.enter('unsure')
  }

  /** Redis has an older state than this process, or none. */
  lose(): void {
    if (this.current !== 'unreported') this.enter('unreported')
  }

  /** Redis and this process have compared what is out. */
  settle(): void {
    if (this.current !== 'agreed') this.enter('agreed')
  }

  private enter(phase: AgreementPhase): void {
    assertNext(NEXT, 'a shard', this.current, phase)
    this.current = phase
  }
}
