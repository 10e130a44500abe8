import { useRef, useState } from 'preact/hooks'
import type { ApiError } from '../api/apiError.ts'
import { type Chat, EMPTY_CHAT, streamChat } from '../api/chatStream.ts'
import { read, type Shape } from '../api/client.ts'
import { shownDuration } from '../format/time.ts'
import { Card, Figure } from '../parts/pieces.tsx'
import { ProofCard } from '../parts/proof.tsx'
import { HoldBar } from '../parts/receipt.tsx'
import { Await, Empty, Failure, NeedsCredential } from '../parts/states.tsx'
import { pathTo } from '../router/match.ts'
import { asApiError, useResource } from '../state/resource.ts'
import { hasSession } from '../state/session.ts'

type Model = Shape<'ModelList'>['data'][number]

/** Trying a model with the key that is signed in. */
export function Playground() {
  return <NeedsCredential>{hasSession.value ? <NeedsKey /> : <WithModels />}</NeedsCredential>
}

function NeedsKey() {
  return (
    <Empty title="The playground sends requests with an API key">
      <p>A session reads and changes the account; it does not pay for requests. Make a key, or sign in with one.</p>
      <p>
        <a class="button" href={pathTo('signIn')}>
          Sign in with a key
        </a>
      </p>
    </Empty>
  )
}

function WithModels() {
  const models = useResource('models', (signal) => read('/v1/models', undefined, { signal }))
  return (
    <Await of={models} what="models">
      {({ data }) => <Trial models={data.filter(({ endpoints }) => endpoints.includes('chat'))} />}
    </Await>
  )
}

function Trial({ models }: { readonly models: readonly Model[] }) {
  const [chat, setChat] = useState<Chat>(EMPTY_CHAT)
  const [error, setError] = useState<ApiError>()
  const aborter = useRef<AbortController | undefined>(undefined)
  const [isBusy, setBusy] = useState(false)
  const send = async (event: SubmitEvent) => {
    event.preventDefault()
    const form = new FormData(event.currentTarget as HTMLFormElement)
    const mostTokens = Number(form.get('tokens'))
    aborter.current = new AbortController()
    setChat(EMPTY_CHAT)
    setError(undefined)
    setBusy(true)
    try {
      const request = { model: String(form.get('model')), prompt: String(form.get('prompt')), mostTokens }
      await streamChat(request, setChat, aborter.current.signal)
    } catch (failure) {
      if (!aborter.current.signal.aborted) setError(asApiError(failure))
    } finally {
      setBusy(false)
    }
  }
  if (models.length === 0) return <Empty title="No chat model can serve now" />
  return (
    <div class="stack">
      <Card title="Request">
        <form class="stack" onSubmit={send}>
          <div class="fields">
            <div class="field grow">
              <label for="model">Model</label>
              <select id="model" name="model">
                {models.map(({ id }) => (
                  <option key={id} value={id}>
                    {id}
                  </option>
                ))}
              </select>
            </div>
            <div class="field">
              <label for="tokens">Output tokens at most</label>
              <input id="tokens" name="tokens" type="number" min={1} max={100_000} defaultValue="512" required />
            </div>
          </div>
          <div class="field">
            <label for="prompt">Message</label>
            <textarea
              id="prompt"
              name="prompt"
              rows={2}
              required
              defaultValue="Why does a gateway hold money before it asks a model?"
            />
          </div>
          <div class="bar-group">
            <button type="submit" disabled={isBusy}>
              {isBusy ? 'Streaming …' : 'Send'}
            </button>
            {isBusy && (
              <button type="button" class="quiet" onClick={() => aborter.current?.abort()}>
                Stop
              </button>
            )}
          </div>
        </form>
      </Card>
      {error !== undefined && <Refusal error={error} />}
      {(isBusy || chat.text !== '' || chat.receipt !== undefined) && <Answer chat={chat} isBusy={isBusy} />}
      {chat.receipt !== undefined && <ProofCard key={chat.receipt.request_id} id={chat.receipt.request_id} />}
    </div>
  )
}

function Refusal({ error }: { readonly error: ApiError }) {
  return (
    <div class="stack">
      <Failure error={error} />
      {error.requestId !== '' && (
        <p>
          <a href={pathTo('request', error.requestId)}>See every check that this request went through</a>
        </p>
      )}
    </div>
  )
}

function Answer({ chat, isBusy }: { readonly chat: Chat; readonly isBusy: boolean }) {
  const { receipt, firstMs, text } = chat
  return (
    <Card title="Answer" aside={receipt !== undefined && <a href={pathTo('request', receipt.request_id)}>Receipt</a>}>
      <p class="answer" aria-busy={isBusy}>
        {text.trimStart()}
        {isBusy && <span class="caret" aria-hidden="true" />}
      </p>
      {receipt === undefined ? (
        <p class="note" role="status">
          {firstMs === undefined
            ? 'The worst case is held; the model has not answered yet.'
            : `First token after ${shownDuration(firstMs)}.`}
        </p>
      ) : (
        <>
          <HoldBar hold={receipt.hold} cost={receipt.cost} />
          <dl class="figures facts">
            <Figure name="First token">{shownDuration(firstMs ?? null)}</Figure>
            <Figure name="Time taken">{shownDuration(receipt.duration_ms)}</Figure>
            <Figure name="Input tokens">{receipt.usage.prompt_tokens}</Figure>
            <Figure name="Output tokens">{receipt.usage.completion_tokens}</Figure>
          </dl>
        </>
      )}
    </Card>
  )
}
