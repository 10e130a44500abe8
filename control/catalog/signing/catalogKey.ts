import { hkdfSync, type KeyObject, randomBytes, sign } from 'node:crypto'
import type { Hex } from 'viem'
import { type PrivateKeyAccount, privateKeyToAccount } from 'viem/accounts'
import type { Address } from '../../../contract/payments/address.ts'
import { ed25519Key } from '../../book/checkpoint/noteKey.ts'
import { rawPublicKey } from '../../book/checkpoint/noteParts.ts'

const SECRET = /^0x[0-9a-fA-F]{64}$/
const SECRET_BYTES = 32
/** Separates the Ed25519 key from others that are derived from the same secret. */
const ED25519_INFO = 'sluice catalog ed25519'

/** A statement's two signatures, in hex. */
export interface Signatures {
  /** 65 bytes with 0x before them; https://eips.ethereum.org/EIPS/eip-191, version 0x45. */
  readonly eip191: Hex
  /** 64 bytes; RFC 8032. */
  readonly ed25519: string
}

/** The public side of a key. */
export interface SignerKeys {
  readonly address: Address
  /** The 32 bytes of the Ed25519 key in hex. */
  readonly ed25519: string
}

/**
 * A key that signs catalogs. One secret makes both of its keys: it is the secp256k1 key itself, and HKDF with SHA-256
 * (RFC 5869) derives the seed of the Ed25519 key from it.
 */
export class CatalogKey {
  readonly keys: SignerKeys
  private readonly account: PrivateKeyAccount
  private readonly ed25519: KeyObject

  private constructor(account: PrivateKeyAccount, ed25519: KeyObject) {
    this.account = account
    this.ed25519 = ed25519
    this.keys = {
      address: account.address.toLowerCase() as Address,
      ed25519: rawPublicKey(ed25519).toString('hex'),
    }
  }

  /**
   * @param secret 0x and 64 hex digits
   * @throws Error that does not repeat the text
   */
  static of(secret: string): CatalogKey {
    if (!SECRET.test(secret)) throw new Error('the key is not 0x and 64 hex digits')
    const bytes = Buffer.from(secret.slice(2), 'hex')
    const seed = Buffer.from(hkdfSync('sha256', bytes, '', ED25519_INFO, SECRET_BYTES))
    try {
      return new CatalogKey(privateKeyToAccount(secret as Hex), ed25519Key(seed))
    } catch {
      // The message of the library would repeat the number.
      throw new Error('the key is no private key of secp256k1')
    }
  }

  /** Signs a text by both keys; both sign the same bytes. */
  async sign(text: string): Promise<Signatures> {
    return {
      eip191: await this.account.signMessage({ message: text }),
      ed25519: sign(null, Buffer.from(text, 'utf8'), this.ed25519).toString('hex'),
    }
  }
}

/** A new secret for `CatalogKey.of`. */
export function generateCatalogKey(): string {
  const secret = `0x${randomBytes(SECRET_BYTES).toString('hex')}`
  CatalogKey.of(secret)
  return secret
}
