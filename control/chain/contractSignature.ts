import {
  type Address,
  BaseError,
  createPublicClient,
  ExecutionRevertedError,
  encodeFunctionData,
  type Hex,
  http,
  type PublicClient,
} from 'viem'
import { GatewayError } from '../../contract/errors/errors.ts'
import type { ChainLimits } from './limits.ts'

/** The value that `isValidSignature` returns for a valid signature; https://eips.ethereum.org/EIPS/eip-1271 */
const VALID = '0x1626ba7e'
const ABI = [
  {
    type: 'function',
    name: 'isValidSignature',
    stateMutability: 'view',
    inputs: [{ type: 'bytes32' }, { type: 'bytes' }],
    outputs: [{ type: 'bytes4' }],
  },
] as const

/** Wallets that are contracts and verify their signatures themselves (ERC-1271). */
export class ContractWallets {
  private readonly client: PublicClient
  private knownChainId: Promise<number> | undefined

  /** @param rpcUrl JSON-RPC over HTTP of the chain that the contracts are on */
  constructor(rpcUrl: string, limits: ChainLimits) {
    this.client = createPublicClient({
      transport: http(rpcUrl, { timeout: limits.chainTimeoutMs, retryCount: 0 }),
      cacheTime: 0,
    })
  }

  /** The id of the chain. @throws GatewayError chain_unavailable */
  async chainId(): Promise<number> {
    this.knownChainId ??= this.client.getChainId()
    try {
      return await this.knownChainId
    } catch (error) {
      this.knownChainId = undefined
      throw unavailable(error)
    }
  }

  /**
   * Whether the contract at an address takes this signature of a hash for its own.
   * @returns false also when there is no contract
   * @throws GatewayError chain_unavailable
   */
  async hasSigned(address: Address, hash: Hex, signature: Hex): Promise<boolean> {
    const data = encodeFunctionData({ abi: ABI, args: [hash, signature] })
    try {
      // Without code at the address the call succeeds with no data.
      const answer = await this.client.call({ to: address, data })
      return answer.data !== undefined && answer.data.length === 66 && answer.data.startsWith(VALID)
    } catch (error) {
      if (error instanceof BaseError && error.walk((cause) => cause instanceof ExecutionRevertedError)) return false
      throw unavailable(error)
    }
  }
}

function unavailable(cause: unknown): GatewayError {
  return new GatewayError('chain_unavailable', { retryAfterSeconds: 1, cause })
}
