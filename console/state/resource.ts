import { useEffect, useState } from 'preact/hooks'
import { ApiError } from '../api/apiError.ts'

/** A read of a page: on its way, there, or failed. */
export interface Resource<Value> {
  readonly state: 'loading' | 'ready' | 'failed'
  /** Kept while it is read again. */
  readonly value: Value | undefined
  readonly error: ApiError | undefined
  readonly again: () => void
}

/**
 * Reads what a page shows, anew whenever `key` changes; an answer that is overtaken is dropped.
 * @param key of everything that the read depends on
 */
export function useResource<Value>(key: string, load: (signal: AbortSignal) => Promise<Value>): Resource<Value> {
  const [found, setFound] = useState<Omit<Resource<Value>, 'again'>>({
    state: 'loading',
    value: undefined,
    error: undefined,
  })
  const [turn, setTurn] = useState(0)
  useEffect(() => {
    const aborter = new AbortController()
    setFound((before) => ({ state: 'loading', value: before.value, error: undefined }))
    load(aborter.signal).then(
      (value) => {
        if (!aborter.signal.aborted) setFound({ state: 'ready', value, error: undefined })
      },
      (error: unknown) => {
        if (!aborter.signal.aborted) setFound({ state: 'failed', value: undefined, error: asApiError(error) })
      },
    )
    return () => aborter.abort()
  }, [key, turn])
  return { ...found, again: () => setTurn((before) => before + 1) }
}

/** Any failure as one that can be shown. */
export function asApiError(error: unknown): ApiError {
  if (error instanceof ApiError) return error
  return new ApiError(0, null, error instanceof Error ? error.message : String(error))
}
