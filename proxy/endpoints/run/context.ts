import type { Principal } from '../../access/principal.ts'
import type { Exchange } from '../../server/exchange.ts'
import type { Metered } from './metered.ts'
import type { Phase } from './phase.ts'
import type { RunServices } from './services.ts'

/** What the parts of a run share: who asks for what, and how far the request has come. */
export interface RunContext {
  readonly exchange: Exchange
  readonly principal: Principal
  readonly metered: Metered
  readonly services: RunServices
  readonly phase: Phase
  /** The one way to another phase. @throws PhaseFault where it cannot follow */
  enter(phase: Phase): void
}
