import type { SaltedTagging } from '../../../contract/money/tags.ts'
import type { Principal } from '../../access/principal.ts'
import type { Exchange } from '../../server/exchange.ts'
import type { Metered } from './metered.ts'
import type { Phase } from './phase.ts'
import type { RunServices } from './services.ts'

/** The context that the parts of a run share: the principal, the request, and its phase. */
export interface RunContext {
  readonly exchange: Exchange
  readonly principal: Principal
  readonly metered: Metered
  /** Undefined for a request without tags and user. */
  readonly tagging?: SaltedTagging | undefined
  readonly services: RunServices
  readonly phase: Phase
  /** The one way to another phase. @throws PhaseFault where it cannot follow */
  enter(phase: Phase): void
}
