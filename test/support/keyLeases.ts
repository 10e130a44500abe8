import { UNITS_PER_USD } from '../../contract/money/units.ts'
import { FixedArguments } from '../../contract/wire/scriptArguments.ts'
import { HoldCode } from '../../contract/wire/scripts.ts'
import { payerPrincipal } from '../../proxy/access/payerPrincipal.ts'
import type { Held } from '../../proxy/admission/held.ts'
import type { HoldWaiter } from '../../proxy/admission/holds.ts'
import { KeyLeases } from '../../proxy/admission/leases/keyLeases.ts'
import { Lease } from '../../proxy/admission/leases/lease.ts'
import type { LeaseAnswer } from '../../proxy/admission/leases/leaseCall.ts'
import type { LeaseContext } from '../../proxy/admission/leases/leaseContext.ts'
import { limits } from './limits.ts'

export const NOW = 3_600_000
export const SERIES = 'lock_1'
const payer = payerPrincipal('0x00000000000000000000000000000000000000aa')
export const principal = { ...payer, caps: new FixedArguments(...payer.caps.texts.slice(0, -1), '1000,20') }

interface Refused {
  readonly requestId: string
  readonly code: number
  readonly leastUnits: number
}

/** The leases of one key, with everything that they ask of their shard and process. */
export function keyOf(onRefused?: () => void, clock = { now: () => NOW }, isExact = () => false) {
  const lease = new Lease({ shard: 0, accountId: principal.accountId, keys: principal.keyId, hour: 1 })
  const seen = { wants: 0, recalls: 0, held: [] as Held[], refused: [] as Refused[] }
  const context = {
    limits,
    mayUse: true,
    clock,
    isExact,
    refuse: ({ requestId }: HoldWaiter, refusal: { code: number; leastUnits: number }) => {
      seen.refused.push({ requestId, code: refusal.code, leastUnits: refusal.leastUnits })
      onRefused?.()
    },
    recall: () => void seen.recalls++,
    retrySoon: () => undefined,
  } as unknown as LeaseContext
  const shard = {
    want: () => void seen.wants++,
    opened: (_waiter: HoldWaiter, _lease: Lease, held: Held) => void seen.held.push(held),
    leaseOf: () => lease,
  }
  return { key: new KeyLeases(principal, shard, context), lease, seen }
}

/** A request that can do with no less than it wants, unless `leastUnits` says so. */
export function waiterOf(requestId: string, wantUnits: number, lockWantUnits = 0, leastUnits = wantUnits): HoldWaiter {
  const rest = (units: number) => ({ wantUnits: wantUnits - units, leastUnits: wantUnits - units })
  return {
    requestId,
    principal,
    wantUnits,
    leastUnits,
    coinUsdUnits: UNITS_PER_USD,
    holdMeta: '',
    ...(lockWantUnits > 0 && { lock: { seriesId: SERIES, microUnits: 1, wantUnits: lockWantUnits, rest } }),
    onHeld: () => undefined,
    onHoldRefused: () => undefined,
    onCrashed: () => undefined,
  }
}

/** @param units of coin */
export const answerOf = (code: number, units: number, out = 0): LeaseAnswer => ({
  code,
  units,
  retryMs: 0,
  permits: code === HoldCode.OK ? 1 : 0,
  coinUnits: units,
  coinNanos: units,
  grants: [],
  out,
  permitsLeft: 0,
  mayRest: false,
})
