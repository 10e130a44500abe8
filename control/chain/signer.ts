import { type Hex, keccak256 } from 'viem'
import { type PrivateKeyAccount, privateKeyToAccount } from 'viem/accounts'
import type { Address } from '../../contract/payments/address.ts'

/** A call that moves money, with all that its price depends on. */
export interface UnsignedTransaction {
  readonly chainId: number
  readonly nonce: number
  readonly to: Address
  readonly data: Hex
  readonly gas: bigint
  /** Wei per gas. */
  readonly maxFeePerGas: bigint
  readonly maxPriorityFeePerGas: bigint
}

export interface SignedTransaction {
  readonly hash: Hex
  readonly raw: Hex
}

/** A key that sends transactions. */
export class Signer {
  readonly address: Address
  private readonly account: PrivateKeyAccount

  /** @throws Error when it is not 0x and 64 hex digits of a private key */
  constructor(privateKey: string) {
    if (!/^0x[0-9a-fA-F]{64}$/.test(privateKey)) throw new Error('a private key is 0x and 64 hex digits')
    this.account = privateKeyToAccount(privateKey as Hex)
    this.address = this.account.address.toLowerCase() as Address
  }

  /** Signs an EIP-1559 transaction. https://eips.ethereum.org/EIPS/eip-1559 */
  async sign(transaction: UnsignedTransaction): Promise<SignedTransaction> {
    const raw = await this.account.signTransaction({ type: 'eip1559', value: 0n, ...transaction })
    return { hash: keccak256(raw), raw }
  }
}
