// The context of a trace, as its headers carry it: https://www.w3.org/TR/trace-context-1/

const SAMPLED = 1
const VERSION_LENGTH = 55
const FORM = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(?:-.*)?$/
const UNKNOWN_VERSION = 'ff'
const ONLY_ZEROS = /^0+$/
const MEMBERS_MAX = 32
const MEMBER =
  /^(?:[a-z][a-z0-9_\-*/]{0,255}|[a-z0-9][a-z0-9_\-*/]{0,240}@[a-z][a-z0-9_\-*/]{0,13})=[\x20-\x2b\x2d-\x3c\x3e-\x7e]{0,255}[\x21-\x2b\x2d-\x3c\x3e-\x7e]$/

/** The span that a request was sent by. */
export interface ParentContext {
  readonly traceId: string
  readonly spanId: string
  readonly isSampled: boolean
}

/**
 * Reads `traceparent`.
 * @returns undefined where it is absent, malformed, or was sent twice: the request begins a trace of its own then
 */
export function readTraceParent(value: string): ParentContext | undefined {
  const [, version, traceId, spanId, flags] = FORM.exec(value) ?? []
  if (version === undefined || traceId === undefined || spanId === undefined || flags === undefined) return undefined
  // Later versions may have more fields at the end; the first one has none.
  if (version === UNKNOWN_VERSION || (version === '00' && value.length !== VERSION_LENGTH)) return undefined
  if (ONLY_ZEROS.test(traceId) || ONLY_ZEROS.test(spanId)) return undefined
  return { traceId, spanId, isSampled: (Number.parseInt(flags, 16) & SAMPLED) !== 0 }
}

/** Writes `traceparent`. */
export function writeTraceParent(traceId: string, spanId: string, isSampled: boolean): string {
  return `00-${traceId}-${spanId}-0${isSampled ? SAMPLED : 0}`
}

/**
 * Reads `tracestate`, whose headers are joined by commas.
 * @param charactersMax a longer one is left out
 * @returns its members; '' where one of them is malformed or named twice
 */
export function readTraceState(value: string, charactersMax: number): string {
  if (value === '' || value.length > charactersMax) return ''
  const members = value
    .split(',')
    .map((member) => member.replace(/^[ \t]+|[ \t]+$/g, ''))
    .filter((member) => member !== '')
  const names = new Set(members.map((member) => member.slice(0, member.indexOf('='))))
  const isSound = members.length <= MEMBERS_MAX && names.size === members.length
  return isSound && members.every((member) => MEMBER.test(member)) ? members.join(',') : ''
}
