import { LIFE_FIELD, SPANS, type Span, type SpendingCaps, WINDOW, WINDOWS } from '../money/windows.ts'

/** Codes of the first cap and of the first one of a platform key; those of the other spans follow in the order of SPANS. */
export const CAP = 30
export const PLATFORM_CAP = 60

/** A cap that does not cover a hold, a lease or a debit. */
export interface MetCap {
  readonly span: Span
  /** It is one of the platform key, which a sub-key counts against as well. */
  readonly isPlatforms: boolean
}

const MET_CAPS: ReadonlyMap<number, MetCap> = new Map(
  [false, true].flatMap((isPlatforms) => {
    return SPANS.map((span) => [capCode({ span, isPlatforms }), { span, isPlatforms }] as const)
  }),
)

/** The code that scripts answer with when a cap is met. */
export function capCode({ span, isPlatforms }: MetCap): number {
  return (isPlatforms ? PLATFORM_CAP : CAP) + SPANS.indexOf(span)
}

/** The cap that a code of a script names; undefined for codes that say something else. */
export function metCap(code: number): MetCap | undefined {
  return MET_CAPS.get(code)
}

/** The name of a cap where refusals are explained, such as `cap_day` or `platform_cap_life`. */
export const capName = ({ span, isPlatforms }: MetCap): string => `${isPlatforms ? 'platform_cap' : 'cap'}_${span}`

/** Caps as scripts take them: the digits of each span, or an empty text for none. */
export function capArguments(caps: SpendingCaps): string[] {
  return SPANS.map((span) => String(caps[span] ?? ''))
}

const ofWindows = (field: 'numberField' | 'spentField') => WINDOWS.map((window) => WINDOW[window][field])

/** The names of a key's counters in Redis, in the order that scripts read them in: numbers of windows, then units by span. */
export const COUNTERS: readonly string[] = [...ofWindows('numberField'), ...ofWindows('spentField'), LIFE_FIELD]
