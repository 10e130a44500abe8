interface SignIn {
  /** The purpose of the signature, which the wallet shows to its owner. */
  readonly purpose: string
  /** With the checksum of EIP-55, as wallets give it. */
  readonly address: string
  readonly nonce: string
  readonly chainId: number
  readonly host: string
  readonly origin: string
  /** ISO 8601. */
  readonly issuedAt: string
}

/** The text of EIP-4361 (Sign-In with Ethereum) by which a wallet proves itself here. */
export function signInText({ purpose, address, nonce, chainId, host, origin, issuedAt }: SignIn): string {
  return `${host} wants you to sign in with your Ethereum account:
${address}

${purpose}

URI: ${origin}
Version: 1
Chain ID: ${chainId}
Nonce: ${nonce}
Issued At: ${issuedAt}`
}
