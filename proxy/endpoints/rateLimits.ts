import type { ContractLimits } from '../../contract/limits/limits.ts'

/** A rate that is answered with 429, as GET /v1/limits shows it. */
export interface RateLimit {
  readonly id: string
  readonly applies_to: string
  readonly requests: number
  readonly period_seconds: number
  /** Requests that are allowed in a burst after a quiet time. */
  readonly burst: number
  /**
   * The subject of the rate: a key, an account, a client network (an IPv4 address or the /64 of an IPv6 one), the whole
   * gateway.
   */
  readonly scope: string
  readonly note?: string
}

type RateName = Extract<keyof ContractLimits, `${string}PerMinute`>

/** One use of a rate of the table of limits. */
interface RateUse extends Pick<RateLimit, 'id' | 'scope' | 'applies_to' | 'note'> {
  /** Absent when a whole minute's quota is allowed in a burst. */
  readonly burst?: Extract<keyof ContractLimits, `${string}Burst`>
  /** The burst never exceeds a minute's quota. */
  readonly isBurstCapped?: true
}

/** The uses of each rate in the table of limits; a rate that is not described here does not compile. */
const USES: Readonly<Record<RateName, readonly RateUse[]>> = {
  requestsPerMinute: [
    {
      id: 'requests_per_key',
      scope: 'key',
      applies_to: 'model endpoints',
      burst: 'requestBurst',
      isBurstCapped: true,
      note: 'A key may have its own rate.',
    },
  ],
  apiRequestsPerMinute: [
    {
      id: 'account_api',
      scope: 'account',
      burst: 'apiRequestBurst',
      applies_to: 'endpoints of accounts, keys, receipts and statements',
    },
    {
      id: 'public_reads',
      scope: 'client network',
      burst: 'apiRequestBurst',
      applies_to: 'what everybody may read, such as statistics, the catalog, agents and providers',
    },
  ],
  signInRequestsPerMinute: [
    {
      id: 'sign_in',
      scope: 'client network',
      burst: 'signInRequestBurst',
      applies_to: 'endpoints that take no credential and change something, such as signing in',
    },
    {
      id: 'refused_credentials',
      scope: 'client network',
      burst: 'signInRequestBurst',
      applies_to: 'credentials that are refused',
    },
  ],
  signatureFailuresPerMinute: [
    {
      id: 'wrong_signatures',
      scope: 'client network and wallet',
      applies_to: 'signatures of wallets that are wrong',
    },
  ],
  providerChecksPerMinute: [{ id: 'provider_checks', scope: 'account', applies_to: 'POST /v1/providers' }],
  paymentRefusalsPerMinute: [
    {
      id: 'refused_payments',
      scope: 'client network',
      burst: 'paymentRefusalBurst',
      applies_to: 'payments that were refused after a look at the chain, of one kind',
      note: 'Answered with payments_busy.',
    },
  ],
  paymentRefusalsOverallPerMinute: [
    {
      id: 'refused_payments_overall',
      scope: 'gateway',
      burst: 'paymentRefusalOverallBurst',
      applies_to: 'payments that were refused after a look at the chain, of one kind',
      note: 'Answered with payments_busy.',
    },
  ],
}

/** Every rate limit that is answered with 429, as it is in force. */
export function rateLimits(limits: ContractLimits): RateLimit[] {
  const minutely = Object.entries(USES).flatMap(([name, uses]) =>
    uses.map(({ burst: burstName, isBurstCapped, ...use }) => {
      const requests = limits[name as RateName]
      const burst = burstName === undefined ? requests : limits[burstName]
      return {
        ...use,
        requests,
        period_seconds: 60,
        burst: isBurstCapped ? Math.min(requests, burst) : burst,
      }
    }),
  )
  const { referralAttachesMax } = limits
  return [
    ...minutely,
    {
      id: 'referral_attaches',
      applies_to: 'POST /v1/referrals',
      requests: referralAttachesMax,
      period_seconds: limits.referralAttachWindowMs / 1000,
      burst: referralAttachesMax,
      scope: 'client network',
      note: 'Answered with attach_velocity.',
    },
  ]
}
