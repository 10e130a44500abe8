import type { StatedReserve } from './statedReserve.ts'

const STEP_DECIMALS = 2

/**
 * A reading as everybody may see it at any moment. Exact debts, read often enough, would show the charge of each request; so they
 * are rounded up, and what is derived from them down, to hundredths. Whether they are covered is decided by the exact ones.
 */
export function publicReserve(reserve: StatedReserve): StatedReserve {
  return {
    ...reserve,
    owed: reserve.owed.map((one) => ({ ...one, amount: roundedUp(one.amount), usd: roundedUp(one.usd) })),
    owed_usd: roundedUp(reserve.owed_usd),
    ratio: reserve.ratio === null ? null : cut(reserve.ratio),
  }
}

/** A decimal that is not negative without the digits after its hundredths. */
function cut(decimal: string): string {
  const [whole = '0', fraction = ''] = decimal.split('.')
  const kept = fraction.slice(0, STEP_DECIMALS).replace(/0+$/, '')
  return kept === '' ? whole : `${whole}.${kept}`
}

function roundedUp(decimal: string): string {
  const [whole = '0', fraction = ''] = decimal.split('.')
  if (fraction.length <= STEP_DECIMALS) return decimal
  const hundredths = (BigInt(whole + fraction.slice(0, STEP_DECIMALS)) + 1n).toString().padStart(STEP_DECIMALS + 1, '0')
  return cut(`${hundredths.slice(0, -STEP_DECIMALS)}.${hundredths.slice(-STEP_DECIMALS)}`)
}
