import { change } from '../api/client.ts'
import { accountOf, signText, type WalletProvider } from './provider.ts'
import { signInText } from './signInText.ts'

/**
 * Has a wallet sign that it is its owner's, with a nonce of the gateway.
 * @param purpose of the signature, which the wallet shows
 * @throws ApiError, or what the wallet throws where its owner refuses
 */
export async function proveWallet(
  provider: WalletProvider,
  purpose: string,
): Promise<{ readonly message: string; readonly signature: string }> {
  const address = await accountOf(provider)
  const { nonce, chain_id: chainId } = await change('post', '/v1/auth/nonce')
  const message = signInText({
    purpose,
    address,
    nonce,
    chainId: chainId ?? 1,
    host: location.host,
    origin: location.origin,
    issuedAt: new Date().toISOString(),
  })
  return { message, signature: await signText(provider, address, message) }
}
