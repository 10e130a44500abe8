/** The part of an amount that is paid in coin. */
export interface CoinPart {
  /** Its worth in units of 1e-9 USD. */
  readonly coinUnits: number
  /** The coin that it takes, in integers of 1e-9 coin. */
  readonly coinNanos: number
}

/** Coin as scripts and splits write it: `units`, or `units:nanos` where they are two numbers. */
export function coinPartText({ coinUnits, coinNanos }: CoinPart): string {
  return coinUnits === coinNanos ? String(coinUnits) : `${coinUnits}:${coinNanos}`
}

/** Parses the output of `coinPartText`; NaN for any other text. */
export function parseCoinPart(text: string): CoinPart {
  const end = text.indexOf(':')
  if (end >= 0) return { coinUnits: Number(text.slice(0, end)), coinNanos: Number(text.slice(end + 1)) }
  const both = Number(text)
  return { coinUnits: both, coinNanos: both }
}
