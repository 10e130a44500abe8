import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { shownTime } from '../format/time.ts'

const COPIED_MS = 2_000

/** A part of a page with its heading. */
export function Card({
  title,
  aside,
  children,
}: {
  readonly title: string
  readonly aside?: ComponentChildren
  readonly children: ComponentChildren
}) {
  return (
    <section class="card" aria-label={title}>
      <div class="card-head">
        <h2>{title}</h2>
        {aside !== undefined && <div class="card-aside">{aside}</div>}
      </div>
      {children}
    </section>
  )
}

/** A figure with its name. */
export function Figure({ name, children, note }: { name: string; children: ComponentChildren; note?: string }) {
  return (
    <div class="figure">
      <dt>{name}</dt>
      <dd>
        {children}
        {note !== undefined && <span class="muted">{note}</span>}
      </dd>
    </div>
  )
}

const TONES: Readonly<Record<string, string>> = {
  ok: 'good',
  passed: 'good',
  operational: 'good',
  active: 'good',
  available: 'good',
  open: 'warn',
  partial: 'warn',
  degraded_performance: 'warn',
  under_maintenance: 'warn',
  paused: 'warn',
  failed: 'bad',
  partial_outage: 'bad',
  major_outage: 'bad',
  revoked: 'bad',
  refused: 'bad',
}

/** A state as a word, with a color beside it. */
export function Badge({ state }: { readonly state: string }) {
  return <span class={`badge ${TONES[state] ?? 'plain'}`}>{state.replaceAll('_', ' ')}</span>
}

/** Says where the figures of a page are from, and until when they are. */
export function Source({ of, until }: { readonly of: string; readonly until: string }) {
  return (
    <p class="source">
      From {of}, as of <time dateTime={until}>{shownTime(until)} UTC</time>
    </p>
  )
}

export function Time({ of }: { readonly of: string }) {
  return (
    <time class="nowrap" dateTime={of}>
      {shownTime(of)}
    </time>
  )
}

/** A text to copy, such as a snippet. */
export function Code({ text, label }: { readonly text: string; readonly label: string }) {
  const [isCopied, setCopied] = useState(false)
  const copy = async () => {
    await navigator.clipboard.writeText(text).catch(() => undefined)
    setCopied(true)
    setTimeout(() => setCopied(false), COPIED_MS)
  }
  return (
    <div class="code">
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by the keyboard. */}
      <section tabIndex={0} aria-label={label}>
        <pre>
          <code>{text}</code>
        </pre>
      </section>
      <button type="button" class="quiet copy" onClick={copy}>
        {isCopied ? 'Copied' : 'Copy'}
        <span class="visually-hidden"> {label}</span>
      </button>
    </div>
  )
}

/** Has the browser save a text as a file. */
export function saveText(name: string, text: string): void {
  const url = URL.createObjectURL(new Blob([text], { type: 'text/csv' }))
  const link = document.createElement('a')
  link.href = url
  link.download = name
  link.click()
  URL.revokeObjectURL(url)
}

/** A button that saves a text as a file. */
export function Download({ name, text, children }: { name: string; text: () => string; children: ComponentChildren }) {
  return (
    <button type="button" class="quiet" onClick={() => saveText(name, text())}>
      {children}
    </button>
  )
}

/** One of some values, each a button. */
export function Choice<Value extends string>({
  label,
  values,
  value,
  onChange,
}: {
  readonly label: string
  readonly values: readonly (readonly [value: Value, name: string])[]
  readonly value: Value
  readonly onChange: (value: Value) => void
}) {
  return (
    <fieldset class="choice">
      <legend class="visually-hidden">{label}</legend>
      {values.map(([one, name]) => (
        <button key={one} type="button" aria-pressed={one === value} onClick={() => onChange(one)}>
          {name}
        </button>
      ))}
    </fieldset>
  )
}
