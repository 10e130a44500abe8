import type { ContractLimits } from '../limits/limits.ts'
import { coinAmount, pageAfter, pageLimit, text, timeOrNone } from './fields.ts'
import { type ApiRoute, members } from './route.ts'

/** Links: coin in escrow that the holder of the token can claim. */
export const linkRoutes = (limits: ContractLimits) =>
  ({
    list_links: {
      method: 'GET',
      path: '/v1/links',
      auth: 'session',
      summary: "List the account's links, newest first",
      query: members({ limit: pageLimit(limits.listPageMax), after: pageAfter('lnk') }),
    },
    create_link: {
      method: 'POST',
      path: '/v1/links',
      auth: 'session',
      summary: 'Create a link with coin; its token is shown only once',
      body: members(
        {
          amount: coinAmount('the amount that the link holds'),
          note: text('a text of at most 200 characters, which the claimer reads', 200),
          expires_at: timeOrNone('when coin that nobody has claimed comes back, a time to come'),
        },
        ['amount'],
      ),
    },
    claim_link: {
      method: 'POST',
      path: '/v1/links/{token}/claim',
      auth: 'session',
      summary: 'Claim the coin of a link, once',
      body: members({}),
    },
    cancel_link: {
      method: 'POST',
      path: '/v1/links/{id}/cancel',
      auth: 'session',
      summary: 'Cancel an unclaimed link and take its coin back',
      body: members({}),
    },
  }) as const satisfies Record<string, ApiRoute>
