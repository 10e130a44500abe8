import { GatewayError } from '../../../contract/errors/errors.ts'
import { formatUsd } from '../../../contract/money/units.ts'
import { isId } from '../../../contract/wire/ids.ts'
import type { RpcRequest } from '../../../contract/wire/rpc.ts'
import type { AgentPolicy } from '../../access/principal.ts'
import type { RpcClient } from '../../bus/rpcClient.ts'

const RELEASE_ATTEMPTS = 3
const APPROVAL_HEADER = 'x-approval-id'

/** A request of an agent before its hold. */
export interface AgentRequest {
  readonly agentId: string
  readonly requestId: string
  readonly endpoint: string
  readonly model: string
  readonly wantUnits: number
  readonly leastUnits: number
  /** x-approval-id, or ''. */
  readonly approvalId: string
  /** Identifies its body; called only when an approval is needed, before the first wait. */
  readonly bodyHash: () => string
}

/** The most that an agent's request may hold, and the approval that it uses. */
export interface AgentPass {
  readonly wantUnits: number
  readonly approvalId: string
}

/** Enforces an agent's policy for single requests: the cap on the cost, and the owner's approval. */
export class AgentGate {
  private readonly rpc: Pick<RpcClient, 'call'>
  private readonly onFault: (error: unknown) => void

  /** @param onFault called for approvals that could not be given back */
  constructor(rpc: Pick<RpcClient, 'call'>, onFault: (error: unknown) => void) {
    this.rpc = rpc
    this.onFault = onFault
  }

  /**
   * Admits a request, synchronously unless an approval has to be requested or used.
   * @throws (or rejects with) GatewayError request_cap_exceeded; approval_required, whose answer is the approval; the codes
   *   of an approval that cannot be used; policy_unavailable when control cannot be asked
   */
  pass(policy: AgentPolicy, request: AgentRequest): AgentPass | Promise<AgentPass> {
    const { requestCapUnits: cap, approvalThresholdUnits: threshold } = policy
    if (cap !== null && request.leastUnits > cap) throw capExceeded(request.leastUnits, cap)
    // An output that the client left open shrinks to the cap, as it does to the balance.
    const wantUnits = cap === null ? request.wantUnits : Math.min(request.wantUnits, cap)
    if (threshold === null || wantUnits <= threshold) return { wantUnits, approvalId: '' }
    const bodyHash = request.bodyHash()
    return request.approvalId === '' ? this.ask(request, wantUnits, bodyHash) : this.use(request, wantUnits, bodyHash)
  }

  /** Makes the approval of a request usable again that ended without a charge. */
  release(approvalId: string, requestId: string): void {
    this.tryRelease(approvalId, requestId).catch(this.onFault)
  }

  private async ask(request: AgentRequest, wantUnits: number, bodyHash: string): Promise<never> {
    const body = await this.rpc.call('ask_approval', messageOf(request, wantUnits, bodyHash)).catch(refuse)
    throw new GatewayError('approval_required', { body })
  }

  private async use(request: AgentRequest, wantUnits: number, bodyHash: string): Promise<AgentPass> {
    const { approvalId, requestId } = request
    if (!isId('apr', approvalId)) throw new GatewayError('approval_not_found', { param: APPROVAL_HEADER })
    const asked = this.rpc.call('use_approval', messageOf(request, wantUnits, bodyHash)).catch(refuse)
    const { units } = await asked.catch((error: unknown) => {
      // It may have been used even though the call failed.
      if (error instanceof GatewayError && error.row === 'policy_unavailable') this.release(approvalId, requestId)
      throw error
    })
    return { wantUnits: Math.min(wantUnits, units), approvalId }
  }

  private async tryRelease(approvalId: string, requestId: string): Promise<void> {
    for (let attempt = 1; ; attempt++) {
      try {
        await this.rpc.call('release_approval', { approvalId, requestId })
        return
      } catch (error) {
        if (attempt === RELEASE_ATTEMPTS) throw error
      }
    }
  }
}

function messageOf(request: AgentRequest, wantUnits: number, bodyHash: string): RpcRequest<'ask_approval'> {
  const { agentId, requestId, approvalId, endpoint, model, leastUnits } = request
  return { agentId, requestId, approvalId, endpoint, model, bodyHash, wantUnits, leastUnits }
}

/** Control that cannot read its database knows as little as one that does not answer. */
function refuse(error: unknown): never {
  if (!(error instanceof GatewayError) || error.status < 500) throw error
  throw new GatewayError('policy_unavailable', { retryAfterSeconds: 1, cause: error })
}

function capExceeded(leastUnits: number, cap: number): GatewayError {
  const message = `The request could cost ${formatUsd(leastUnits)} USD, and the agent may spend ${formatUsd(cap)} on one; lower max_tokens or shorten it.`
  return new GatewayError('request_cap_exceeded', { message })
}
