import { atomicBack, wholeAtomic } from '../../../../contract/payments/conversion.ts'

/** A payment whose request has ended, and the credit that its payer has in its asset. Amounts are units. */
export interface EndedPayment {
  /** Atomic units of the token that were paid, and the units credited for them. */
  readonly amount: bigint
  readonly units: number
  readonly chargeUnits: number
  /** Nothing was served. */
  readonly voided: boolean
  readonly creditUnits: number
}

/** The price of one whole token in units. */
export interface TokenPrice {
  readonly decimals: number
  readonly usdUnits: number
}

/** The division of a payment, in units: paid + used = charged + back + kept. */
export interface Remainder {
  readonly backUnits: number
  /** The atomic units of the token that are refunded. */
  readonly backAmount: bigint
  /** The credit that it uses, the credit that it adds, and the credit after it. */
  readonly usedUnits: number
  readonly keptUnits: number
  readonly leftUnits: number
}

/**
 * Computes the division of a payment. The charge is taken from the credit first. Once the rest of the payment and of the
 * credit reaches the minimum, all of it is refunded, in whole atomic units; until then it is kept as credit. A payment for
 * a request that was not served is refunded in full and leaves the credit unchanged.
 * @param price undefined when the token has none now; then the refund is at most the payment
 * @param minUnits the smallest refund
 */
export function remainderOf(ended: EndedPayment, price: TokenPrice | undefined, minUnits: number): Remainder {
  const { amount, units, chargeUnits, voided, creditUnits } = ended
  if (voided) return { backUnits: units, backAmount: amount, usedUnits: 0, keptUnits: 0, leftUnits: creditUnits }
  const potUnits = units - chargeUnits + creditUnits
  const back = potUnits < minUnits ? NOTHING : wholeOf(ended, potUnits, price)
  const usedUnits = back.amount > 0n ? creditUnits : Math.min(creditUnits, chargeUnits)
  const leftUnits = potUnits - back.units
  return {
    backUnits: back.units,
    backAmount: back.amount,
    usedUnits,
    keptUnits: leftUnits - (creditUnits - usedUnits),
    leftUnits,
  }
}

const NOTHING = { amount: 0n, units: 0 } as const

/** The atomic units that make up an amount: of the payment by its own rate, and of the credit beyond it by the price. */
function wholeOf({ amount, units }: EndedPayment, potUnits: number, price: TokenPrice | undefined) {
  if (potUnits <= units) {
    const back = atomicBack(amount, units, potUnits)
    const worth = Number((BigInt(units) * back + amount - 1n) / amount)
    return { amount: back, units: Math.min(worth, potUnits) }
  }
  const beyond = price === undefined ? NOTHING : wholeAtomic(potUnits - units, price.decimals, price.usdUnits)
  return { amount: amount + beyond.amount, units: units + beyond.units }
}
