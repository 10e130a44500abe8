import { GatewayError } from '../../../../contract/errors/errors.ts'
import { isId } from '../../../../contract/wire/ids.ts'
import type { ApiCall, ReadHandler, WriteHandler } from '../../../api/call.ts'
import { listJson, pageOf } from '../../../api/lists.ts'
import { coinAmountJson } from '../../../catalog/pricing/coinAmounts.ts'
import type { Pool, Queryable } from '../../../runtime/db/pool.ts'
import type { TransfersLimits } from '../limits.ts'
import { referralCode } from './codes.ts'
import { attachReferrer, pageOfReferrals, type Referral, referralOf, referralTotals } from './referrals.ts'

type ReferralOperation = 'get_referrals' | 'attach_referral'

/** The endpoints of referrals. */
export function referralHandlers({
  pool,
  limits,
}: {
  readonly pool: Pool
  limits: TransfersLimits
}): Record<ReferralOperation, ReadHandler | WriteHandler<unknown>> {
  return {
    get_referrals: {
      read: async (call) => {
        requireOwner(call)
        const { limit, after } = pageOf(call, limits)
        return { json: await referralsJson(pool, call.accountId, limit, after, limits) }
      },
    },
    attach_referral: {
      write: async ({ actor, accountId, body }, client) => {
        const referral = await attachReferrer(client, actor, accountId, String(body['code']), limits)
        return { status: 201, json: attachedJson(referral) }
      },
    },
  }
}

/**
 * An account's code, whether it was referred, the accounts that it referred, and its earnings from them. The accounts are
 * not named to each other.
 * @throws GatewayError code_unavailable
 */
export async function referralsJson(
  db: Queryable,
  accountId: string,
  limit: number,
  after: string,
  limits: TransfersLimits,
) {
  const code = await referralCode(db, accountId)
  const own = await referralOf(db, accountId)
  const totals = await referralTotals(db, accountId)
  const page = await pageOfReferrals(db, accountId, limit + 1, after)
  const entries = page.map((referral) => ({
    object: 'referral' as const,
    id: referral.id,
    earned: coinAmountJson({ nanos: referral.earnedNanos, units: referral.earnedUnits }),
    attached_at: new Date(referral.attachedAtMs).toISOString(),
  }))
  return {
    ...listJson(entries, limit),
    code,
    share_percent: limits.referralShareBps / 100,
    referred: totals.count,
    earned: coinAmountJson(totals),
    referred_at: own === undefined ? null : new Date(own.attachedAtMs).toISOString(),
  }
}

/** A referral as the referred account sees it. */
function attachedJson(referral: Referral) {
  return {
    object: 'referral' as const,
    id: referral.id,
    attached_at: new Date(referral.attachedAtMs).toISOString(),
  }
}

/** A key with its own bounds, or of an agent, may be in other hands than the account. */
function requireOwner(call: ApiCall): void {
  const isBound = call.caller.kind === 'key' && call.caller.isRestricted
  if (!isBound && !isId('agt', call.accountId)) return
  const message = 'This takes a session, or a key of the account without its own bounds.'
  throw new GatewayError('permission_denied', { message })
}
