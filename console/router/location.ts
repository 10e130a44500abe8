import { computed, signal } from '@preact/signals'
import { type PageName, pathTo, placeOf } from './match.ts'

const pathname = signal(location.pathname)

/** The page that is shown. */
export const place = computed(() => placeOf(pathname.value))

addEventListener('popstate', () => {
  pathname.value = location.pathname
})

/** Shows a page, with an entry in the browser's history. */
export function goTo(page: PageName | 'start', id = ''): void {
  follow(pathTo(page, id))
}

function follow(path: string): void {
  if (path !== location.pathname) history.pushState(null, '', path)
  pathname.value = path
  scrollTo(0, 0)
}

/** Links within the console are followed without loading it again; those with a modifier key are the browser's. */
export function followLinks(event: MouseEvent): void {
  const target = event.target instanceof Element ? event.target.closest('a') : null
  if (target === null || event.defaultPrevented || event.button !== 0) return
  if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey || target.target !== '') return
  if (target.origin !== location.origin || !/^\/console(?:\/|$)/.test(target.pathname) || target.hash !== '') return
  if (target.hasAttribute('download')) return
  event.preventDefault()
  follow(target.pathname)
}
