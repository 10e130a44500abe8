/** The rules that amounts keep on their way from the hold to the book, by the names that are logged. */
const MONEY_RULES = {
  grant_within_request: 'a hold or a lease is at most as much as was asked for',
  hold_is_its_parts: 'the parts of a hold add up to it',
  lease_covers_hold: 'no more is held on a lease than it has free, and no more is taken off it than it has out',
  charge_within_hold: 'a charge is at most its hold',
  charge_is_its_parts: 'the parts of a charge add up to it',
  charged_once: 'a request is charged once, and only while it holds something',
  posting_is_charge: 'the transfers of a charge add up to it',
  transfer_moves_amount: 'a transfer moves an amount above zero from one account to another one',
  balance_not_negative: 'the balance of an account that pays is not below zero',
  counter_not_negative: 'a count of units only grows',
} as const

export type MoneyRule = keyof typeof MONEY_RULES

/**
 * A rule of the money path is broken, by a fault of the gateway itself. The request or the batch ends with it: what is held
 * stays held until it is compared with Redis or the book, and nothing is charged or booked.
 */
export class MoneyFault extends Error {
  readonly rule: MoneyRule

  constructor(rule: MoneyRule, what: string, left: number, right: number) {
    super(`${rule} (${MONEY_RULES[rule]}): ${what}: ${left}, ${right}`)
    this.name = 'MoneyFault'
    this.rule = rule
  }
}

/**
 * Stops the work on an amount that breaks a rule. Conditions are to be false for NaN.
 * @param what the request, lease or account
 * @param left the amount that is checked @param right the amount that it is checked against
 * @throws MoneyFault
 */
export function assertMoney(isKept: boolean, rule: MoneyRule, what: string, left: number, right: number): void {
  if (!isKept) throw new MoneyFault(rule, what, left, right)
}
