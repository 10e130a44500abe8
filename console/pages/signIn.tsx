import { useState } from 'preact/hooks'
import { send } from '../api/client.ts'
import { Card } from '../parts/pieces.tsx'
import { goTo } from '../router/location.ts'
import { asApiError } from '../state/resource.ts'
import { signInByKey } from '../state/session.ts'
import { WalletSignIn } from './walletSignIn.tsx'

/** Signing in with an API key or a wallet. */
export function SignIn() {
  return (
    <div class="stack two">
      <KeySignIn />
      <WalletSignIn />
    </div>
  )
}

function KeySignIn() {
  const [fault, setFault] = useState('')
  const [isBusy, setBusy] = useState(false)
  const submit = async (event: SubmitEvent) => {
    event.preventDefault()
    const key = String(new FormData(event.currentTarget as HTMLFormElement).get('key')).trim()
    setBusy(true)
    setFault('')
    try {
      await checkKey(key)
      signInByKey(key)
      goTo('playground')
    } catch (failure) {
      setFault(asApiError(failure).message)
      setBusy(false)
    }
  }
  return (
    <Card title="API key">
      <form class="stack" onSubmit={submit}>
        <div class="field">
          <label for="key">Paste an API key</label>
          <input
            id="key"
            name="key"
            type="password"
            autocomplete="off"
            spellcheck={false}
            required
            placeholder="sk_…"
            aria-describedby="key-note"
            aria-invalid={fault !== ''}
          />
          <small id="key-note">
            It is kept in the memory of this page alone: closing or reloading the page forgets it.
          </small>
        </div>
        {fault !== '' && (
          <p class="fault" role="alert">
            {fault}
          </p>
        )}
        <div>
          <button type="submit" disabled={isBusy}>
            Sign in
          </button>
        </div>
      </form>
      <p class="note">With a key you see its usage and its receipts, and you can try models.</p>
    </Card>
  )
}

/** Whether the gateway takes the key. @throws ApiError when it does not */
async function checkKey(key: string): Promise<void> {
  const response = await send('/v1/receipts?limit=1', { headers: { authorization: `Bearer ${key}` } })
  await response.text()
}
