import type { ComponentChildren } from 'preact'
import type { ApiError } from '../api/apiError.ts'
import { pathTo } from '../router/match.ts'
import type { Resource } from '../state/resource.ts'
import { credential, hasSession } from '../state/session.ts'

/** Lines in the place of what is on its way. */
export function Loading({ what }: { readonly what: string }) {
  return (
    <div class="loading" role="status">
      <span class="visually-hidden">Loading {what} …</span>
      <i aria-hidden="true" />
      <i aria-hidden="true" />
      <i aria-hidden="true" />
    </div>
  )
}

/** What stands where there is nothing yet, and how that changes. */
export function Empty({ title, children }: { readonly title: string; readonly children?: ComponentChildren }) {
  return (
    <div class="empty">
      <p class="empty-title">{title}</p>
      {children !== undefined && <div>{children}</div>}
    </div>
  )
}

/** A refusal with what to change, in the words of the API. */
export function Failure({ error, again }: { readonly error: ApiError; readonly again?: () => void }) {
  return (
    <div class="failure" role="alert">
      <p class="failure-title">
        {error.status === 0 ? 'No answer' : `Refused with ${error.status}`}
        {error.code !== null && <code>{error.code}</code>}
      </p>
      <p>{error.message}</p>
      {error.requestId !== '' && (
        <p class="muted">
          Request <code>{error.requestId}</code>
        </p>
      )}
      {again !== undefined && (
        <button type="button" class="quiet" onClick={again}>
          Try again
        </button>
      )}
    </div>
  )
}

/** What was read, or the state that it is in. */
export function Await<Value>({
  of,
  what,
  children,
}: {
  readonly of: Resource<Value>
  readonly what: string
  readonly children: (value: Value) => ComponentChildren
}) {
  if (of.error !== undefined) return <Failure error={of.error} again={of.again} />
  if (of.value === undefined) return <Loading what={what} />
  return (
    <div class="stack" aria-busy={of.state === 'loading'}>
      {children(of.value)}
    </div>
  )
}

/** Pages of an account: without a credential they say how to get one. */
export function NeedsCredential({
  session = false,
  children,
}: {
  readonly session?: boolean
  readonly children: ComponentChildren
}) {
  if (session ? hasSession.value : credential.value !== undefined) return <>{children}</>
  return (
    <Empty title={session ? 'Sign in with a wallet to see this page' : 'Sign in to see this page'}>
      <p>
        {session
          ? 'An API key may not read or change the settings of its account.'
          : 'Paste an API key, or sign in with the wallet of your account. Nothing is stored in this browser.'}
      </p>
      <p>
        <a class="button" href={pathTo('signIn')}>
          Sign in
        </a>
      </p>
    </Empty>
  )
}

export function Unknown() {
  return (
    <Empty title="The console has no page at this address">
      <p>
        <a href={pathTo('models')}>Models and prices</a>
      </p>
    </Empty>
  )
}
