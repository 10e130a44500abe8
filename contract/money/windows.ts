/**
 * The windows that the spending of a key is counted and capped in, shortest first. Everything that has one of each window
 * loops over this list: settings, columns, counters, arguments of scripts, texts of the API.
 */
export const WINDOWS = ['hour', 'day', 'month'] as const

export type Window = (typeof WINDOWS)[number]

/** The spans that a key has a cap of each: the windows, and its whole life, whose cap is the budget. */
export const SPANS = [...WINDOWS, 'life'] as const

export type Span = (typeof SPANS)[number]

/** The spending caps of a key, in units; null is no cap. */
export type SpendingCaps = Readonly<Record<Span, number | null>>

const HOUR_MS = 3_600_000
const DAY_HOURS = 24

/** A kind of window. Windows consist of whole hours and are numbered since 1970, UTC. */
interface WindowRow {
  /** For texts. */
  readonly article: 'a' | 'an'
  readonly adjective: string
  /** Names in the counters of a key in Redis: the number of the window that was counted last, and the units in it. */
  readonly numberField: string
  readonly spentField: string
  /** The number of the window that an hour is in, and the same in Lua. */
  readonly numberOf: (hour: number) => number
  readonly lua: string
  /** The first hour of a window. */
  readonly firstHour: (window: number) => number
}

export const WINDOW: Readonly<Record<Window, WindowRow>> = {
  hour: {
    article: 'an',
    adjective: 'hourly',
    numberField: 'hw',
    spentField: 'hs',
    numberOf: (hour) => hour,
    lua: 'hour',
    firstHour: (hour) => hour,
  },
  day: {
    article: 'a',
    adjective: 'daily',
    numberField: 'dw',
    spentField: 'ds',
    numberOf: (hour) => Math.floor(hour / DAY_HOURS),
    lua: 'math.floor(hour / 24)',
    firstHour: (day) => day * DAY_HOURS,
  },
  month: {
    article: 'a',
    adjective: 'monthly',
    numberField: 'mw',
    spentField: 'ms',
    numberOf: (hour) => {
      const date = new Date(hour * HOUR_MS)
      return (date.getUTCFullYear() - 1970) * 12 + date.getUTCMonth()
    },
    lua: 'monthOf(math.floor(hour / 24))',
    firstHour: (month) => Date.UTC(1970, month, 1) / HOUR_MS,
  },
}

/** The counter of the units that a key has spent in its life. */
export const LIFE_FIELD = 'bs'

/** One value for each window. */
export function byWindow<Value>(of: (window: Window) => Value): Record<Window, Value> {
  return Object.fromEntries(WINDOWS.map((window) => [window, of(window)])) as Record<Window, Value>
}

/** One value for each span. */
export function bySpan<Value>(of: (span: Span) => Value): Record<Span, Value> {
  return Object.fromEntries(SPANS.map((span) => [span, of(span)])) as Record<Span, Value>
}

/** The windows as a list in a sentence: hour, day or month. */
export function windowList(conjunction: 'and' | 'or', nameOf: (window: Window) => string = (window) => window): string {
  return `${WINDOWS.slice(0, -1).map(nameOf).join(', ')} ${conjunction} ${WINDOWS.slice(-1).map(nameOf).join('')}`
}

/** An hour, a day. */
export const oneOf = (window: Window): string => `${WINDOW[window].article} ${window}`

export const NO_CAPS: SpendingCaps = bySpan(() => null)
