import { parseAbi } from 'viem'
import { GatewayError } from '../../../../contract/errors/errors.ts'
import type { Address } from '../../../../contract/payments/address.ts'
import { type ChainClient, chainUnavailable, isRevert, readChain } from '../../../chain/chainClient.ts'

/** The functions of an ERC-8004 identity registry that are called. https://eips.ethereum.org/EIPS/eip-8004 */
const ABI = parseAbi([
  'function ownerOf(uint256 agentId) view returns (address)',
  'function getAgentWallet(uint256 agentId) view returns (address)',
])
const NOBODY = `0x${'00'.repeat(20)}`

/**
 * Makes sure that a payer is the owner or the wallet of the agent that a request names.
 * @throws GatewayError agent_identity_unknown, agent_identity_not_payer, chain_unavailable
 */
export async function checkAgent(
  chain: ChainClient,
  registry: Address,
  agentId: bigint,
  payer: Address,
): Promise<void> {
  const read = { abi: ABI, address: registry, args: [agentId] } as const
  const [owner, wallet] = await Promise.all([
    ownerOf(() => chain.readContract({ ...read, functionName: 'ownerOf' })),
    readChain(() => chain.readContract({ ...read, functionName: 'getAgentWallet' })),
  ])
  if (owner === undefined) throw new GatewayError('agent_identity_unknown')
  const isPayer = [owner, wallet].some((address) => address !== NOBODY && address.toLowerCase() === payer)
  if (!isPayer) throw new GatewayError('agent_identity_not_payer')
}

/** @returns undefined for an id that the registry has not given out: ERC-721 has it revert */
async function ownerOf(read: () => Promise<string>): Promise<string | undefined> {
  try {
    return await read()
  } catch (error) {
    if (isRevert(error)) return undefined
    throw chainUnavailable(error)
  }
}
