import { must } from './failed.ts'
import { coinDecimal, decimal } from './money.ts'
import type { Amount, Paid, Receipt } from './receipt.ts'
import type { Sheet } from './sheet.ts'

/** Codes of requests that their client ended: their payments are not refunded in full. */
const CLIENT_FAULTS: readonly string[] = ['client_gone', 'upstream_rejected', 'context_length_exceeded']

/**
 * Checks that all amounts of a receipt are the same in units, US dollars and coin.
 * @throws Failed with the first that is not
 */
export function checkAmounts({ cost, hold, paid }: Receipt, sheet: Sheet): string {
  check('cost', cost, sheet)
  check('hold', hold, sheet)
  if (paid !== null) {
    const { amount, minimum, fee, refund, credit } = paid
    const shown = { amount, minimum_charge: minimum, settlement_fee: fee, refund, ...credit }
    for (const [name, one] of Object.entries(shown)) if (one !== null) check(`paid.${name}`, one, sheet)
  }
  return `${cost.usd} USD, ${cost.coin} coin at ${decimal(sheet.coinUsdUnits)} USD`
}

function check(name: string, { units, usd, coin }: Amount, { coinUsdUnits }: Sheet): void {
  must(usd === decimal(units), `${name} of ${units} units is not ${usd} USD`)
  must(coin === coinDecimal(units, coinUsdUnits), `${name} of ${units} units is not ${coin} coin`)
}

/**
 * Checks that the parts of a request's payment add up.
 * @throws Failed if they are less or more than the payment
 */
export function checkPayment({ cost, status, errorCode }: Receipt, paid: Paid): string {
  const { amount, minimum, fee, refund, credit } = paid
  const isServed = status === 'ok' || status === 'partial'
  const least = amount.units < minimum.units ? amount.units : minimum.units
  const lacks = least > cost.units ? least - cost.units : 0n
  const due = isServed || CLIENT_FAULTS.includes(errorCode) ? lacks : 0n
  must(fee.units === due, `the fee is ${fee.units} units, where the smallest charge makes it ${due}`)
  if (credit === null) return `${amount.units} units, of which what goes back is not known yet`
  const back = refund?.units ?? 0n
  const [came, went] = [amount.units + credit.used.units, cost.units + fee.units + back + credit.kept.units]
  must(came === went, `${came} units came and ${went} were charged, sent back or kept`)
  return `${amount.units} units, ${back} sent back, ${credit.kept.units} kept as credit`
}
