const ADDRESS = /^0x[0-9a-fA-F]{40}$/

/** An EVM address in lower case, the one form in which addresses are compared and stored. */
export type Address = `0x${string}`

/** The address in lower case, or undefined when the text is not 0x and 40 hex digits. Checksums are not asked for. */
export function parseAddress(text: unknown): Address | undefined {
  return typeof text === 'string' && ADDRESS.test(text) ? (text.toLowerCase() as Address) : undefined
}

/** CAIP-2 name of an EVM chain, such as eip155:8453. https://chainagnostic.org/CAIPs/caip-2 */
export function networkOf(chainId: number): string {
  return `eip155:${chainId}`
}
