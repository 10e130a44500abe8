import type { AgentPolicy } from '../../access/principal.ts'
import type { Exchange } from '../../server/exchange.ts'
import { bodyHash } from './bodyHash.ts'
import type { Metered } from './metered.ts'
import type { RunServices } from './services.ts'

/** The approval that an agent's request uses up: requested before the hold, given back when nothing is charged. */
export class AgentApproval {
  private readonly services: RunServices
  private readonly requestId: string
  private approvalId = ''

  constructor(services: RunServices, requestId: string) {
    this.services = services
    this.requestId = requestId
  }

  /** The approval in use; empty when the policy asks for none. */
  get id(): string {
    return this.approvalId
  }

  /**
   * Asks whether the agent's policy lets the request pass.
   * @returns the units that the request may hold at most
   * @throws GatewayError when the policy refuses it, or an approval is needed first
   */
  async pass(policy: AgentPolicy, agentId: string, exchange: Exchange, metered: Metered): Promise<number> {
    const { approvalId, contentType } = exchange.head
    const pass = await this.services.agents.pass(policy, {
      agentId,
      requestId: this.requestId,
      endpoint: metered.endpoint,
      model: metered.model.id,
      wantUnits: metered.wantUnits,
      leastUnits: metered.leastUnits,
      approvalId,
      bodyHash: () => bodyHash(exchange.body, contentType, this.services.limits),
    })
    this.approvalId = pass.approvalId
    return pass.wantUnits
  }

  /** Leaves the approval to the next attempt; it may be called more than once. */
  release(): void {
    if (this.approvalId === '') return
    this.services.agents.release(this.approvalId, this.requestId)
    this.approvalId = ''
  }
}
