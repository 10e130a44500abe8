import { useState } from 'preact/hooks'
import type { ApiError } from '../api/apiError.ts'
import { change, read, type Shape } from '../api/client.ts'
import { Pager, usePages } from '../parts/pager.tsx'
import { Badge, Card, Code, Source, Time } from '../parts/pieces.tsx'
import { Await, Empty, Failure, NeedsCredential } from '../parts/states.tsx'
import { asApiError, useResource } from '../state/resource.ts'
import { credential } from '../state/session.ts'
import { CapsLeft } from './keyCaps.tsx'
import { KeyForm, type KeySettings } from './keyForm.tsx'

type Key = Shape<'ApiKey'>

const PAGE = 20

/** The API keys of the account: made, capped, paused, revoked. */
export function Keys() {
  return (
    <NeedsCredential session>
      <KeyList />
    </NeedsCredential>
  )
}

function KeyList() {
  const pages = usePages()
  const [made, setMade] = useState<Shape<'NewApiKey'>>()
  const who = credential.value?.token ?? ''
  const list = useResource(`${who} ${pages.after}`, async (signal) => {
    const query = { limit: PAGE, ...(pages.after !== '' && { after: pages.after }) }
    return { page: await read('/v1/account/keys', query, { signal }), readAt: new Date().toISOString() }
  })
  const make = async (settings: KeySettings) => {
    setMade(await change('post', '/v1/account/keys', settings))
    list.again()
  }
  return (
    <div class="stack">
      {made !== undefined && <Made made={made} />}
      <Card title="Make a key">
        <KeyForm action="Make the key" submit={make} />
      </Card>
      <Await of={list} what="keys">
        {({ page: { data, has_more: hasMore }, readAt }) =>
          data.length === 0 ? (
            <Empty title="The account has no key yet" />
          ) : (
            <>
              {data.map((key) => (
                <KeyCard key={key.id} apiKey={key} changed={list.again} />
              ))}
              <Pager pages={pages} next={hasMore ? data.at(-1)?.id : undefined} />
              <Source of="the keys of the account, GET /v1/account/keys" until={readAt} />
            </>
          )
        }
      </Await>
    </div>
  )
}

function Made({ made }: { readonly made: Shape<'NewApiKey'> }) {
  return (
    <Card title={`The key ${made.name === '' ? made.last4 : made.name} is made`}>
      <p>Copy it now: it is shown this once, and nobody can read it again.</p>
      <Code text={made.api_key ?? ''} label="the new key" />
    </Card>
  )
}

function KeyCard({ apiKey, changed }: { readonly apiKey: Key; readonly changed: () => void }) {
  const [error, setError] = useState<ApiError>()
  const [open, setOpen] = useState<'none' | 'caps' | 'change'>('none')
  const { id, name, state, last4, paused, created_at: made } = apiKey
  const isOver = state === 'revoked' || state === 'expired'
  const act = async (work: () => Promise<unknown>) => {
    setError(undefined)
    await work().then(changed, (failure: unknown) => setError(asApiError(failure)))
  }
  const set = (settings: object) => change('patch', '/v1/account/keys/{id}', settings, { id })
  const toggle = (what: 'caps' | 'change') => setOpen(open === what ? 'none' : what)
  return (
    <Card title={name === '' ? `Key …${last4}` : name} aside={<Badge state={state} />}>
      <p class="muted">
        <code>sk_…{last4}</code>, made <Time of={made} />
      </p>
      <div class="bar-group actions">
        <button type="button" class="quiet" aria-expanded={open === 'caps'} onClick={() => toggle('caps')}>
          What is left
        </button>
        {!isOver && (
          <>
            <button type="button" class="quiet" aria-expanded={open === 'change'} onClick={() => toggle('change')}>
              Change
            </button>
            <button type="button" class="quiet" onClick={() => act(() => set({ paused: !paused }))}>
              {paused ? 'Resume' : 'Pause'}
            </button>
            <button
              type="button"
              class="danger"
              onClick={() => {
                if (confirm(`Revoke the key …${last4}? Requests with it are refused from then on, for good.`))
                  void act(() => change('delete', '/v1/account/keys/{id}', undefined, { id }))
              }}
            >
              Revoke
            </button>
          </>
        )}
      </div>
      {error !== undefined && <Failure error={error} />}
      {open === 'caps' && <CapsLeft id={id} />}
      {open === 'change' && (
        <KeyForm
          action="Save"
          of={apiKey}
          submit={async (settings) => {
            await set(settings)
            setOpen('none')
            changed()
          }}
        />
      )}
    </Card>
  )
}
