import { computed, signal } from '@preact/signals'
import { keyInFragment } from '../router/match.ts'

/** The credential of requests. It lives in memory alone: loading the page again forgets it. */
export interface Credential {
  readonly kind: 'key' | 'session'
  readonly token: string
  /** The part of it that is shown. */
  readonly name: string
}

export const credential = signal<Credential | undefined>(undefined)
export const hasSession = computed(() => credential.value?.kind === 'session')

const SHOWN = 4

/** Uses an API key from now on. */
export function signInByKey(token: string): void {
  credential.value = { kind: 'key', token, name: `sk_…${token.slice(-SHOWN)}` }
}

/** Uses the session of a wallet from now on. */
export function signInBySession(token: string, address: string): void {
  const name = `${address.slice(0, 6)}…${address.slice(-SHOWN)}`
  credential.value = { kind: 'session', token, name }
}

export function forget(): void {
  credential.value = undefined
}

/** Takes the key that the address hands over, and removes it from the address and from the browser's history. */
export function takeKeyOfAddress(): boolean {
  const key = keyInFragment(location.hash)
  if (key === undefined) return false
  history.replaceState(null, '', location.pathname + location.search)
  signInByKey(key)
  return true
}
