/** A wallet in the browser, as of EIP-1193. */
export interface WalletProvider {
  request(call: { readonly method: string; readonly params?: readonly unknown[] }): Promise<unknown>
}

/** A wallet as it announces itself, as of EIP-6963. */
export interface Announced {
  readonly info: { readonly uuid: string; readonly name: string }
  readonly provider: WalletProvider
}

const ANNOUNCED = 'eip6963:announceProvider'

/** Calls back for every wallet that announces itself. @returns ends it */
export function onWallet(found: (wallet: Announced) => void): () => void {
  const listener = (event: Event) => {
    const { detail } = event as CustomEvent<Announced>
    if (typeof detail?.provider?.request === 'function') found(detail)
  }
  addEventListener(ANNOUNCED, listener)
  dispatchEvent(new Event('eip6963:requestProvider'))
  return () => removeEventListener(ANNOUNCED, listener)
}

/** The account that the wallet's owner lets this page see. */
export async function accountOf(provider: WalletProvider): Promise<string> {
  const accounts = await provider.request({ method: 'eth_requestAccounts' })
  const [first] = Array.isArray(accounts) ? accounts : []
  if (typeof first !== 'string') throw new Error('The wallet showed no account. Unlock it and try again.')
  return first
}

/** Has the wallet sign a text. @returns the signature in hex */
export async function signText(provider: WalletProvider, address: string, text: string): Promise<string> {
  const bytes = new TextEncoder().encode(text)
  const hex = `0x${[...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('')}`
  return String(await provider.request({ method: 'personal_sign', params: [hex, address] }))
}
