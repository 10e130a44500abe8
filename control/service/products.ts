import type { Product } from '../api/product.ts'
import type { OutcomeHandlers } from '../chain/recorder.ts'
import { AGENTS } from '../products/agents/product.ts'
import { HOLDERS } from '../products/holders/product.ts'
import { LOCKS } from '../products/locks/product.ts'
import { MARKETPLACE } from '../products/marketplace/product.ts'
import { PAYMENTS } from '../products/payments/product.ts'
import { RESERVE } from '../products/reserve/product.ts'
import { SETTLEMENTS } from '../products/settlements/product.ts'
import { TRANSFERS } from '../products/transfers/product.ts'
import { joined } from '../runtime/joined.ts'

/** The table of products. One that is left out is neither served nor run; all else works. */
export const PRODUCTS: readonly Product[] = [
  AGENTS,
  RESERVE,
  PAYMENTS,
  SETTLEMENTS,
  HOLDERS,
  LOCKS,
  MARKETPLACE,
  TRANSFERS,
]

/** The handlers that book the outcomes of the products' transactions, by purpose. */
export function outcomesOf(products: readonly Product[]): OutcomeHandlers {
  return joined<OutcomeHandlers>(products.map(({ outcomes }) => outcomes))
}
