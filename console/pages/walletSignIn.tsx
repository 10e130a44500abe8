import { useState } from 'preact/hooks'
import type { ApiError } from '../api/apiError.ts'
import { change } from '../api/client.ts'
import { Card } from '../parts/pieces.tsx'
import { Failure } from '../parts/states.tsx'
import { WalletButtons } from '../parts/walletButtons.tsx'
import { goTo } from '../router/location.ts'
import { asApiError } from '../state/resource.ts'
import { signInBySession } from '../state/session.ts'
import { proveWallet } from '../wallet/prove.ts'
import type { Announced } from '../wallet/provider.ts'

/** Signing in with a wallet of this browser (EIP-6963, EIP-1193, EIP-4361). */
export function WalletSignIn() {
  const [isBusy, setBusy] = useState(false)
  const [error, setError] = useState<ApiError>()
  const [unlinked, setUnlinked] = useState('')
  const signIn = async ({ provider }: Announced) => {
    setBusy(true)
    setError(undefined)
    setUnlinked('')
    try {
      const proof = await proveWallet(provider, 'Sign in to the Sluice console.')
      const session = await change('post', '/v1/auth/verify', proof)
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
      <WalletButtons action="Sign in with" isBusy={isBusy} onPick={signIn} />
      {unlinked !== '' && (
        <p class="fault" role="alert">
          The wallet {unlinked} is not linked to an account. Link it on the page of the balance with a wallet that is,
          or ask the operator for a code.
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
