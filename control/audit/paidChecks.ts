import { paidSql } from '../book/ledger/paidCharges.ts'
import type { Invariant } from './check.ts'

/** Charges that are credited to accounts of revenue. */
const CHARGES = `
  FROM transfers WHERE kind IN ('charge', 'burn') AND starts_with(credit, 'revenue')
    AND at >= (SELECT since FROM paid_revenue)`

/** Invariants of the base of shares: by them and by the totals of the periods, shares are of paid charges alone. */
export const PAID_INVARIANTS: readonly Invariant[] = [
  {
    name: 'revenue that is shared was paid in coin',
    checked: `SELECT count(*) || ' charges' ${CHARGES}`,
    faults: `
      SELECT ref || ' debits ' || debit || ' and is booked to ' || credit ${CHARGES}
        AND starts_with(credit, 'revenue_unpaid:') = ${paidSql('debit')}
      UNION ALL
      SELECT ref || ' is taken of ' || debit || ', which nobody paid'
      FROM transfers WHERE kind <> 'charge' AND debit >= 'revenue_unpaid:' AND debit < 'revenue_unpaid;'`,
  },
]
