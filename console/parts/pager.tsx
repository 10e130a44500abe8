import { useState } from 'preact/hooks'

/** The pages of a list that is read by cursor: where the present one begins, and those before it. */
export interface Pages {
  /** '' on the first page. */
  readonly after: string
  readonly number: number
  readonly next: (cursor: string) => void
  readonly back: () => void
}

export function usePages(): Pages {
  const [cursors, setCursors] = useState<readonly string[]>([])
  return {
    after: cursors.at(-1) ?? '',
    number: cursors.length + 1,
    next: (cursor) => setCursors([...cursors, cursor]),
    back: () => setCursors(cursors.slice(0, -1)),
  }
}

/** @param next the cursor of the next page; undefined on the last one */
export function Pager({ pages, next }: { readonly pages: Pages; readonly next: string | undefined }) {
  if (pages.number === 1 && next === undefined) return null
  return (
    <div class="bar pager">
      <button type="button" class="quiet" disabled={pages.number === 1} onClick={pages.back}>
        Newer
      </button>
      <span class="muted">Page {pages.number}</span>
      <button type="button" class="quiet" disabled={next === undefined} onClick={() => pages.next(next ?? '')}>
        Older
      </button>
    </div>
  )
}
