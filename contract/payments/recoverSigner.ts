import { createRequire } from 'node:module'
import { keccak256 } from 'viem/utils'
import type { KeySignature } from './signature.ts'

type Hex = `0x${string}`

interface Secp256k1 {
  ecdsaRecover(signature: Uint8Array, recoveryId: number, digest: Uint8Array, compressed: boolean): Uint8Array
}

let loaded: Secp256k1 | undefined

/**
 * Loads the native code that recovers signers. The package's own entry point falls back silently to JavaScript, which is 50
 * times slower, when its native code is missing; here that is an error.
 * @throws Error that says what to install
 */
export function loadSecp256k1(): Secp256k1 {
  if (loaded !== undefined) return loaded
  try {
    loaded = createRequire(import.meta.url)('secp256k1/bindings.js') as Secp256k1
    return loaded
  } catch (cause) {
    const platform = `${process.platform}-${process.arch}`
    throw new Error(
      `payments need the native code of the package secp256k1, and there is none for ${platform}; ` +
        'install a C++ compiler and Python, then run `npm rebuild secp256k1`',
      { cause },
    )
  }
}

/**
 * @param digest the 32 bytes that were signed, in hex
 * @returns the address of the key that made the signature, in lower case; undefined when the signature is invalid for every
 *   key
 * @throws Error where the native code is missing
 */
export function recoverSigner(digest: Hex, signature: KeySignature): Hex | undefined {
  const secp256k1 = loadSecp256k1()
  const bytes = Buffer.from(signature.bytes.slice(2), 'hex')
  try {
    const key = secp256k1.ecdsaRecover(
      bytes.subarray(0, 64),
      signature.recoveryId,
      Buffer.from(digest.slice(2), 'hex'),
      false,
    )
    return `0x${keccak256(key.subarray(1)).slice(26)}`
  } catch {
    return undefined
  }
}
