import type { ContractLimits } from '../limits/limits.ts'
import { pageAfter, pageLimit } from './fields.ts'
import { type ApiRoute, members } from './route.ts'

/** Referrals: an account earns a share of the payments of accounts that it referred. */
export const referralRoutes = (limits: ContractLimits) =>
  ({
    get_referrals: {
      method: 'GET',
      path: '/v1/referrals',
      auth: 'key_or_session',
      summary: "The account's referral code, the accounts it referred, newest first, and what it earned",
      query: members({ limit: pageLimit(limits.listPageMax), after: pageAfter('rfl') }),
    },
    attach_referral: {
      method: 'POST',
      path: '/v1/referrals',
      auth: 'session',
      summary: 'Name the account that referred this one by its code, once',
      body: members(
        {
          code: {
            type: 'string',
            pattern: '^[0-9A-HJKMNP-TV-Za-hjkmnp-tv-z]{8}$',
            description: 'the referral code of another account, 8 letters and digits',
          },
        },
        ['code'],
      ),
    },
  }) as const satisfies Record<string, ApiRoute>
