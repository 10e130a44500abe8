import { useEffect } from 'preact/hooks'
import { PAGES_SHOWN, startPage } from './pages/pages.tsx'
import { PageFrame } from './parts/frame.tsx'
import { Unknown } from './parts/states.tsx'
import { followLinks, place } from './router/location.ts'

/** The whole console: the frame, and the page of the address. */
export function App() {
  const { page, id } = place.value
  const shown = page === 'start' ? startPage() : page
  const entry = shown === 'unknown' ? undefined : PAGES_SHOWN[shown]
  const title = entry?.title ?? 'No such page'
  useEffect(() => {
    document.title = `${title} - Sluice console`
  }, [title])
  useEffect(() => {
    addEventListener('click', followLinks)
    return () => removeEventListener('click', followLinks)
  }, [])
  return (
    <PageFrame current={shown} title={title} lead={entry?.lead}>
      {entry === undefined ? <Unknown /> : <entry.Page key={id} id={id} />}
    </PageFrame>
  )
}
