/**
 * Texts in Redis that are counted in windows (holds, leases and debits) have the number of their form in front of the hour,
 * as `v2:494791`; all windows follow from that hour. Form 1 had the numbers of the hour, the day and the month as three
 * fields. docs/architecture/admission.md says how a form may change.
 */
const FORM_1 = /\|(\d+)\|\d+\|\d+(?=\||$)/

/**
 * Reads a text in Redis.
 * @param form of the current form, which begins with `^`
 * @returns the match, also for a text of the form before; null when it has neither
 */
export function matchText(text: string, form: RegExp): RegExpExecArray | null {
  return form.exec(text) ?? form.exec(text.replace(FORM_1, '|v2:$1'))
}

const LEASE = /^([^|]*)\|([^|]*)\|v2:(\d+)\|([\d:]+)\|([^|]*)$/

/** The amount of a lease that is out, as the scripts write it; see lua/README.md. */
export interface LeaseText {
  readonly accountId: string
  /** keyId, or keyId/platformKeyId. */
  readonly keys: string
  /** That it is counted in, since 1970. */
  readonly hour: number
  /** As `parseCoinPart` reads it. */
  readonly coin: string
  /** grantId=units,... */
  readonly parts: string
}

/** @returns undefined when the text does not have the form that lease.lua writes */
export function parseLeaseText(text: string): LeaseText | undefined {
  const match = matchText(text, LEASE)
  if (match === null) return undefined
  const [, accountId = '', keys = '', hour, coin = '', parts = ''] = match
  return { accountId, keys, hour: Number(hour), coin, parts }
}
