import { GatewayError } from '../../contract/errors/errors.ts'
import { networkOf } from '../../contract/payments/address.ts'
import type { PaymentTerms } from '../../contract/payments/terms.ts'

const UINT256_END = 1n << 256n

/**
 * The id of the ERC-8004 agent that a request names: eip155:CHAIN:REGISTRY:ID, or the id alone.
 * @param header x-erc8004-agent
 * @returns decimal, or empty when none is named
 * @throws GatewayError agent_identity_invalid when it is malformed or names another registry
 */
export function readAgent(header: string, terms: PaymentTerms): string {
  if (header === '') return ''
  const match = /^(?:(eip155:[1-9][0-9]{0,14}):(0x[0-9a-fA-F]{40}):)?(0|[1-9][0-9]{0,77})$/.exec(header)
  const [, network, registry, id = ''] = match ?? []
  const isOurs = registry === undefined || registry.toLowerCase() === terms.agentRegistry
  const isHere = network === undefined || network === networkOf(terms.chainId)
  if (match === null || terms.agentRegistry === null || !isOurs || !isHere || BigInt(id) >= UINT256_END) {
    throw new GatewayError('agent_identity_invalid')
  }
  return id
}
