import { useState } from 'preact/hooks'
import type { ApiError } from '../api/apiError.ts'
import { asApiError } from '../state/resource.ts'
import { saveText } from './pieces.tsx'
import { Failure } from './states.tsx'

interface PickerProps {
  /** Such as 2027-01, the newest first. */
  readonly months: readonly string[]
  /** Reads the statement of a month as CSV. @throws ApiError */
  readonly load: (month: string) => Promise<string>
}

/** Saves the statement of a month. */
export function StatementPicker({ months, load }: PickerProps) {
  const [error, setError] = useState<ApiError>()
  const submit = async (event: SubmitEvent) => {
    event.preventDefault()
    const month = String(new FormData(event.currentTarget as HTMLFormElement).get('month'))
    setError(undefined)
    try {
      saveText(`statement-${month}.csv`, await load(month))
    } catch (failure) {
      setError(asApiError(failure))
    }
  }
  return (
    <form class="stack" onSubmit={submit}>
      <div class="bar-group">
        <label>
          <span class="visually-hidden">Month</span>
          <select name="month">
            {months.map((month) => (
              <option key={month}>{month}</option>
            ))}
          </select>
        </label>
        <button type="submit" class="quiet">
          Download CSV
        </button>
      </div>
      <p class="muted">Every movement of money in a month (UTC), from the book.</p>
      {error !== undefined && <Failure error={error} />}
    </form>
  )
}
