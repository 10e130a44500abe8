type Hex = `0x${string}`

const ORDER = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n
const HALF_ORDER = ORDER >> 1n
/** The suffix of a signature by a contract that is not deployed; https://eips.ethereum.org/EIPS/eip-6492 */
const ERC6492_SUFFIX = '6492'.repeat(16)
const EOA_LENGTH = 2 + 65 * 2

/** A 65-byte signature of a key in the form that contracts take: low s, v of 27 or 28. */
export interface KeySignature {
  readonly kind: 'key'
  /** 65 bytes: r, s, v. */
  readonly bytes: Hex
  /** 0 or 1. */
  readonly recoveryId: 0 | 1
  /** The signature had the high s: tokens reject it, Permit2 does not. */
  readonly highS: boolean
}

/** Anything else, which only a contract can have signed (ERC-1271). */
export interface ContractSignature {
  readonly kind: 'contract'
  readonly bytes: Hex
}

/** `counterfactual`: verifying it would deploy a contract, which is refused; `malformed`: not a signature. */
export type ReadSignature = KeySignature | ContractSignature | { readonly kind: 'counterfactual' | 'malformed' }

function hex64(value: bigint): string {
  return value.toString(16).padStart(64, '0')
}

/** Parses a signature of whole bytes and normalizes one of a key. */
export function readSignature(bytes: Hex): ReadSignature {
  if (bytes.endsWith(ERC6492_SUFFIX)) return { kind: 'counterfactual' }
  if (bytes === '0x') return { kind: 'malformed' }
  if (bytes.length !== EOA_LENGTH) return { kind: 'contract', bytes }
  const r = BigInt(bytes.slice(0, 66))
  const s = BigInt(`0x${bytes.slice(66, 130)}`)
  const v = Number.parseInt(bytes.slice(130), 16)
  const parity = v === 27 || v === 28 ? v - 27 : v
  // Signatures of contract wallets may have 65 bytes as well, with arbitrary content.
  if ((parity !== 0 && parity !== 1) || r === 0n || r >= ORDER || s === 0n || s >= ORDER)
    return { kind: 'contract', bytes }
  const highS = s > HALF_ORDER
  const recoveryId = (highS ? 1 - parity : parity) as 0 | 1
  const low = highS ? ORDER - s : s
  return { kind: 'key', bytes: `0x${hex64(r)}${hex64(low)}${(27 + recoveryId).toString(16)}`, recoveryId, highS }
}
