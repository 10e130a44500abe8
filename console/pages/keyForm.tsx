import { useState } from 'preact/hooks'
import { WINDOWS, type Window } from '../../contract/money/windows.ts'
import type { ApiError } from '../api/apiError.ts'
import type { Shape } from '../api/client.ts'
import { Failure } from '../parts/states.tsx'
import { asApiError } from '../state/resource.ts'

/** The settings of a key that the form changes; amounts are decimal strings of USD, null for none. */
export interface KeySettings {
  readonly name: string
  readonly caps: Readonly<Record<string, string | null>>
  readonly budget: string | null
  readonly models: readonly string[]
}

interface FormProps {
  readonly action: string
  /** The key that is changed; absent for a new one. */
  readonly of?: Shape<'ApiKey'>
  /** @throws ApiError that the form shows */
  readonly submit: (settings: KeySettings) => Promise<void>
}

/** Name, caps and models of a key. */
export function KeyForm({ action, of, submit }: FormProps) {
  const [error, setError] = useState<ApiError>()
  const [isBusy, setBusy] = useState(false)
  const [turn, setTurn] = useState(0)
  const send = async (event: SubmitEvent) => {
    event.preventDefault()
    const settings = settingsOf(new FormData(event.currentTarget as HTMLFormElement))
    setBusy(true)
    setError(undefined)
    try {
      await submit(settings)
      setTurn(turn + 1)
    } catch (failure) {
      setError(asApiError(failure))
    } finally {
      setBusy(false)
    }
  }
  const prefix = of?.id ?? 'new'
  const caps: Readonly<Record<string, string | null>> = of?.caps ?? {}
  return (
    <form key={turn} class="stack key-form" onSubmit={send}>
      <div class="fields">
        <Field id={`${prefix}-name`} name="name" label="Name" value={of?.name ?? ''} />
        {WINDOWS.map((window) => (
          <Field
            key={window}
            id={`${prefix}-${window}`}
            name={`cap_${window}`}
            label={`USD each ${window}`}
            value={caps[window] ?? ''}
            isAmount
          />
        ))}
        <Field id={`${prefix}-budget`} name="budget" label="USD in its life" value={of?.budget ?? ''} isAmount />
        <Field
          id={`${prefix}-models`}
          name="models"
          label="Models, separated by commas"
          value={of?.models.join(', ') ?? ''}
        />
      </div>
      <p class="muted">An empty amount is no cap; without a model, the key may use all.</p>
      {error !== undefined && <Failure error={error} />}
      <div>
        <button type="submit" disabled={isBusy}>
          {action}
        </button>
      </div>
    </form>
  )
}

interface FieldProps {
  readonly id: string
  readonly name: string
  readonly label: string
  readonly value: string
  readonly isAmount?: boolean
}

function Field({ id, name, label, value, isAmount = false }: FieldProps) {
  return (
    <div class={isAmount ? 'field' : 'field grow'}>
      <label for={id}>{label}</label>
      <input
        id={id}
        name={name}
        defaultValue={value}
        autocomplete="off"
        {...(isAmount && { inputMode: 'decimal' as const, placeholder: 'no cap' })}
      />
    </div>
  )
}

function settingsOf(form: FormData): KeySettings {
  const text = (name: string) => String(form.get(name) ?? '').trim()
  const amount = (name: string) => text(name) || null
  const caps = Object.fromEntries(WINDOWS.map((window: Window) => [window, amount(`cap_${window}`)]))
  const models = text('models')
    .split(',')
    .map((model) => model.trim())
    .filter((model) => model !== '')
  return { name: text('name'), caps, budget: amount('budget'), models }
}
