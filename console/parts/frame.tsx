import type { ComponentChildren } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { change } from '../api/client.ts'
import { goTo, place } from '../router/location.ts'
import { type PageName, pathTo } from '../router/match.ts'
import { credential, forget, hasSession } from '../state/session.ts'
import { isDark, switchTheme } from '../state/theme.ts'

interface Group {
  readonly title: string
  readonly links: readonly (readonly [page: PageName, name: string])[]
}

const OWN: Group = {
  title: 'Account',
  links: [
    ['playground', 'Playground'],
    ['usage', 'Usage'],
    ['requests', 'Requests'],
    ['keys', 'Keys and caps'],
    ['balance', 'Balance'],
    ['agents', 'Agents and approvals'],
    ['batches', 'Batch jobs'],
    ['connect', 'Connect'],
  ],
}
const PUBLIC: Group = {
  title: 'Gateway',
  links: [
    ['models', 'Models and prices'],
    ['locks', 'Compute locks'],
    ['status', 'Status'],
    ['reserve', 'Reserve'],
    ['checkpoints', 'Checkpoints'],
  ],
}
interface FrameProps {
  readonly current: PageName | 'unknown'
  readonly title: string
  readonly lead: string | undefined
  readonly children: ComponentChildren
}

/** What all pages share: the way to its content, the links, who is signed in, and the heading. */
export function PageFrame({ current, title, lead, children }: FrameProps) {
  const [isOpen, setOpen] = useState(false)
  const heading = useRef<HTMLHeadingElement>(null)
  const { page, id } = place.value
  const isFirst = useRef(true)
  useEffect(() => {
    setOpen(false)
    // A screen reader begins at the heading of a page that was followed to.
    if (!isFirst.current) heading.current?.focus({ preventScroll: true })
    isFirst.current = false
  }, [page, id])
  return (
    <div class="frame">
      <a class="skip" href="#content">
        Skip to content
      </a>
      <header class="top">
        <a class="brand" href={pathTo('start')}>
          <Mark />
          <span>Sluice</span>
        </a>
        <button
          type="button"
          class="menu-button quiet"
          aria-expanded={isOpen}
          aria-controls="menu"
          onClick={() => setOpen(!isOpen)}
        >
          Menu
        </button>
      </header>
      <nav id="menu" class={isOpen ? 'menu open' : 'menu'} aria-label="Pages">
        <Links group={OWN} current={current} />
        <Links group={PUBLIC} current={current} />
        <SignedIn />
      </nav>
      <main id="content" tabIndex={-1}>
        <div class="page-head">
          <h1 ref={heading} tabIndex={-1}>
            {title}
          </h1>
          {lead !== undefined && <p class="lead">{lead}</p>}
        </div>
        {children}
      </main>
    </div>
  )
}

function Links({ group, current }: { readonly group: Group; readonly current: PageName | 'unknown' }) {
  const active = current === 'request' ? 'requests' : current
  return (
    <div class="links">
      <h2>{group.title}</h2>
      <ul>
        {group.links.map(([page, name]) => (
          <li key={page}>
            <a href={pathTo(page)} aria-current={page === active ? 'page' : undefined}>
              {name}
            </a>
          </li>
        ))}
      </ul>
    </div>
  )
}

function SignedIn() {
  const { value } = credential
  const leave = () => {
    // The session ends for good; where that fails, it ends by itself within a day.
    if (hasSession.value) void change('delete', '/v1/auth/session').catch(() => undefined)
    forget()
    goTo('models')
  }
  return (
    <div class="signed-in">
      {value === undefined ? (
        <a class="button wide" href={pathTo('signIn')}>
          Sign in
        </a>
      ) : (
        <>
          <p>
            <span class="muted">{value.kind === 'key' ? 'API key' : 'Wallet'}</span>
            <br />
            <code>{value.name}</code>
          </p>
          <button type="button" class="quiet wide" onClick={leave}>
            Sign out
          </button>
        </>
      )}
      <button type="button" class="quiet wide" onClick={switchTheme}>
        {isDark.value ? 'Light colors' : 'Dark colors'}
      </button>
    </div>
  )
}

function Mark() {
  return (
    <svg class="mark" viewBox="0 0 32 32" aria-hidden="true">
      <rect width="32" height="32" rx="7" />
      <path d="M8 8v16M24 8v16M8 16c4-4 8 4 16 0M8 21c4-4 8 4 16 0" />
    </svg>
  )
}
