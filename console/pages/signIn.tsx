import { useState } from 'preact/hooks'
import { Card } from '../parts/pieces.tsx'
import { goTo } from '../router/location.ts'
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
  const submit = (event: SubmitEvent) => {
    event.preventDefault()
    const form = event.currentTarget as HTMLFormElement
    const key = String(new FormData(form).get('key')).trim()
    if (!key.startsWith('sk_')) {
      setFault('An API key begins with sk_. Check that the whole key was copied.')
      return
    }
    signInByKey(key)
    goTo('playground')
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
          <button type="submit">Sign in</button>
        </div>
      </form>
      <p class="note">With a key you see its usage and its receipts, and you can try models.</p>
    </Card>
  )
}
