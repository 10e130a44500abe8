import secp256k1 from 'secp256k1'
import { type Hex, keccak256, serializeTransaction } from 'viem'
import { privateKeyToAddress } from 'viem/accounts'
import type { Address } from '../contract/payments/address.ts'

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

/** A key that sends transactions. Native signing takes a twentieth of the time of JavaScript's. */
export class Signer {
  readonly address: Address
  readonly #key: Buffer

  /** @throws Error when it is not 0x and 64 hex digits of a private key */
  constructor(privateKey: string) {
    if (!/^0x[0-9a-fA-F]{64}$/.test(privateKey)) throw new Error('a private key is 0x and 64 hex digits')
    this.#key = Buffer.from(privateKey.slice(2), 'hex')
    this.address = privateKeyToAddress(privateKey as Hex).toLowerCase() as Address
  }

  /** Signs an EIP-1559 transaction. https://eips.ethereum.org/EIPS/eip-1559 */
  sign(transaction: UnsignedTransaction): SignedTransaction {
    const unsigned = { type: 'eip1559', value: 0n, ...transaction } as const
    const digest = Buffer.from(keccak256(serializeTransaction(unsigned), 'bytes'))
    const { signature, recid } = secp256k1.ecdsaSign(digest, this.#key)
    const hex = Buffer.from(signature).toString('hex')
    const raw = serializeTransaction(unsigned, {
      r: `0x${hex.slice(0, 64)}`,
      s: `0x${hex.slice(64)}`,
      yParity: recid,
    })
    return { hash: keccak256(raw), raw }
  }
}
