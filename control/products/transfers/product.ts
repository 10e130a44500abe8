import type { Product } from '../../api/product.ts'
import { linkExpirer } from './links/linkExpirer.ts'
import { linkHandlers } from './links/linkHandlers.ts'
import { referralHandlers } from './referrals/referralHandlers.ts'
import { referralPayer } from './referrals/referralPayer.ts'

/** Links that give credit, and referrals. */
export const TRANSFERS: Product = {
  name: 'transfers',
  make: (parts) => ({
    handlers: { ...linkHandlers(parts), ...referralHandlers(parts) },
    start: () => [linkExpirer(parts), referralPayer(parts)],
  }),
}
