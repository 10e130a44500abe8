interface SignIn {
  /** With the checksum of EIP-55, as wallets give it. */
  readonly address: string
  readonly nonce: string
  readonly chainId: number
  readonly host: string
  readonly origin: string
  /** ISO 8601. */
  readonly issuedAt: string
}

/** The text of EIP-4361 (Sign-In with Ethereum) by which a wallet signs in here. */
export function signInText({ address, nonce, chainId, host, origin, issuedAt }: SignIn): string {
  return `${host} wants you to sign in with your Ethereum account:
${address}

Sign in to the Sluice console.

URI: ${origin}
Version: 1
Chain ID: ${chainId}
Nonce: ${nonce}
Issued At: ${issuedAt}`
}
