/** The pages of the console, by their path below /console. */
export const PAGES = {
  usage: '/usage',
  requests: '/requests',
  request: '/requests/{id}',
  playground: '/playground',
  keys: '/keys',
  balance: '/balance',
  agents: '/agents',
  batches: '/batches',
  connect: '/connect',
  models: '/models',
  locks: '/locks',
  status: '/status',
  reserve: '/reserve',
  checkpoints: '/checkpoints',
  signIn: '/sign-in',
} as const

export type PageName = keyof typeof PAGES

export interface Place {
  readonly page: PageName | 'start' | 'unknown'
  readonly id: string
}

const ROOT = '/console'

/** The page of a path. */
export function placeOf(pathname: string): Place {
  const path = pathname.slice(ROOT.length).replace(/\/$/, '')
  if (path === '') return { page: 'start', id: '' }
  for (const [page, pattern] of Object.entries(PAGES) as [PageName, string][]) {
    const [before, after] = pattern.split('{id}')
    if (after === undefined) {
      if (path === pattern) return { page, id: '' }
    } else if (before !== undefined && path.startsWith(before) && !path.slice(before.length).includes('/')) {
      return { page, id: decoded(path.slice(before.length)) }
    }
  }
  return { page: 'unknown', id: '' }
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/** The path of a page; `id` is what the page is about. */
export function pathTo(page: PageName | 'start', id = ''): string {
  return page === 'start' ? ROOT : ROOT + PAGES[page].replace('{id}', encodeURIComponent(id))
}

/**
 * The key that a fragment such as #key=sk_... hands over, as the address that `make run` prints; undefined without one.
 */
export function keyInFragment(fragment: string): string | undefined {
  return new URLSearchParams(fragment.replace(/^#/, '')).get('key') ?? undefined
}
