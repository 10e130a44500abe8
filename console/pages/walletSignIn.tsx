import { useEffect, useState } from 'preact/hooks'
import type { ApiError } from '../api/apiError.ts'
import { change } from '../api/client.ts'
import { Card } from '../parts/pieces.tsx'
import { Failure } from '../parts/states.tsx'
import { goTo } from '../router/location.ts'
import { asApiError } from '../state/resource.ts'
import { signInBySession } from '../state/session.ts'
import { type Announced, accountOf, onWallet, signText } from '../wallet/provider.ts'
import { signInText } from '../wallet/signInText.ts'

/** Signing in with a wallet of this browser (EIP-6963, EIP-1193, EIP-4361). */
export function WalletSignIn() {
  const [wallets, setWallets] = useState<readonly Announced[]>([])
  const [isBusy, setBusy] = useState(false)
  const [error, setError] = useState<ApiError>()
  const [unlinked, setUnlinked] = useState('')
  useEffect(
    () =>
      onWallet((found) =>
        setWallets((before) => [...before.filter(({ info }) => info.uuid !== found.info.uuid), found]),
      ),
    [],
  )
  const signIn = async ({ provider }: Announced) => {
    setBusy(true)
    setError(undefined)
    setUnlinked('')
    try {
      const address = await accountOf(provider)
      const { nonce, chain_id: chainId } = await change('post', '/v1/auth/nonce')
      const message = signInText({
        address,
        nonce,
        chainId: chainId ?? 1,
        host: location.host,
        origin: location.origin,
        issuedAt: new Date().toISOString(),
      })
      const signature = await signText(provider, address, message)
      const session = await change('post', '/v1/auth/verify', { message, signature })
      if (session.account_id === null) {
        setUnlinked(session.address)
        return
      }
      signInBySession(session.token, session.address)
      goTo('usage')
    } catch (failure) {
      setError(asApiError(failure))
    } finally {
      setBusy(false)
    }
  }
  return (
    <Card title="Wallet">
      {wallets.length === 0 ? (
        <p>No wallet was found in this browser. A wallet's extension announces itself here when it is installed.</p>
      ) : (
        <ul class="wallets">
          {wallets.map((wallet) => (
            <li key={wallet.info.uuid}>
              <button type="button" class="quiet wide" disabled={isBusy} onClick={() => signIn(wallet)}>
                Sign in with {wallet.info.name}
              </button>
            </li>
          ))}
        </ul>
      )}
      {unlinked !== '' && (
        <p class="fault" role="alert">
          The wallet {unlinked} is not linked to an account. The operator gives you a code that links it.
        </p>
      )}
      {error !== undefined && <Failure error={error} />}
      <p class="note">
        The wallet signs a text (EIP-4361); it sends no transaction. With its session you also see the balance, and
        change keys and caps. The session is kept in the memory of this page alone.
      </p>
    </Card>
  )
}
