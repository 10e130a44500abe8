import { assertMoney } from '../../../contract/money/moneyFault.ts'
import { HoldCode, type ScriptArgument, type ScriptKey } from '../../../contract/wire/scripts.ts'
import type { Principal } from '../../access/principal.ts'
import { sumUnits } from '../parts.ts'

const HEAD = 2
const PER_ITEM = 9

/** The units that a lease may rest with. */
export interface RestAsk {
  readonly mostUnits: number
  /** With fewer it is not worth it. */
  readonly leastUnits: number
  /** That the lease has free. */
  readonly freeUnits: number
}

/** A request for one key's lease. */
export interface LeaseAsk {
  readonly principal: Principal
  /** Requests that wait. */
  readonly waiting: number
  /** The least that the first of them can do with. */
  readonly leastUnits: number
  /** The sum of the wants of all waiting requests. */
  readonly wantUnits: number
  readonly extraUnits: number
  readonly extraPermits: number
  /** The units beyond those wanted that the lease may rest with; absent for a lease that may not rest. */
  readonly rest?: RestAsk | undefined
  /** Units in one coin, by which coin is taken. */
  readonly coinUsdUnits: number
  /** The holding that alone is leased from, and the units of a micro-token, of which whole ones are leased. */
  readonly lock?: { readonly seriesId: string; readonly microUnits: number }
}

/** The answer for one key. */
export interface LeaseAnswer {
  /** HoldCode */
  readonly code: number
  /** The leased units; after a refusal, the units that were left. */
  readonly units: number
  readonly retryMs: number
  /** Requests that may run by the key's rate. */
  readonly permits: number
  readonly coinUnits: number
  readonly coinNanos: number
  readonly grants: { grantId: string; expiresAtMs: number; units: number }[]
  /** The amount that the account has out, over all processes: above zero as long as anything is out. */
  readonly out: number
  /** Permits of the rate that are left for all processes. */
  readonly permitsLeft: number
  /** All of the lease that is free may stay while nobody uses it. */
  readonly mayRest: boolean
}

/**
 * Keys and arguments of lease.lua after those of the shard and the call.
 * @param restParts of what is free, one of which a lease may rest with
 */
export function leaseArguments(
  asks: readonly LeaseAsk[],
  restParts: number,
): { keys: ScriptKey[]; args: ScriptArgument[] } {
  const keys: ScriptKey[] = []
  const args: ScriptArgument[] = [restParts, asks.length]
  for (const ask of asks) {
    const { principal } = ask
    keys.push(principal.keys)
    args.push(principal.ids, ask.waiting, ask.leastUnits, ask.wantUnits, ask.extraUnits, ask.extraPermits)
    args.push(principal.caps, ask.coinUsdUnits, ask.lock === undefined ? '' : lockText(ask.lock))
    args.push(ask.rest?.mostUnits ?? 0, ask.rest?.leastUnits ?? 0, ask.rest?.freeUnits ?? 0)
  }
  for (const [i, { principal }] of asks.entries()) {
    if (principal.platform === null) continue
    keys.push(principal.platform.countersKey)
    args.push(i, principal.platform.caps)
  }
  return { keys, args }
}

function lockText({ seriesId, microUnits }: NonNullable<LeaseAsk['lock']>): string {
  return `${seriesId},${microUnits}`
}

/**
 * The answers, in the order of the asks.
 * @throws Error when Redis answers another number of them @throws MoneyFault when it leases more than was asked for
 */
export function leaseAnswers(reply: readonly unknown[], asks: readonly LeaseAsk[]): LeaseAnswer[] {
  if (reply.length !== HEAD + asks.length * PER_ITEM) throw new Error(`lease.lua answered ${reply.length} values`)
  return asks.map((ask, i) => {
    const [code, units, retryMs, permits, coinNanos, grantsText, out, left, rests] = reply.slice(HEAD + i * PER_ITEM)
    const grants = parseGrants(String(grantsText))
    if (Number(code) === HoldCode.OK) checkLeased(ask, Number(units), Number(coinNanos), grants)
    return {
      code: Number(code),
      units: Number(units),
      retryMs: Number(retryMs),
      permits: Number(permits),
      coinUnits: grants.reduce((left, grant) => left - grant.units, Number(units)),
      coinNanos: Number(coinNanos),
      grants,
      out: Number(out),
      permitsLeft: Number(left),
      mayRest: rests === 1,
    }
  })
}

function checkLeased(ask: LeaseAsk, units: number, coinNanos: number, grants: LeaseAnswer['grants']): void {
  const { keyId } = ask.principal
  const most = ask.wantUnits + ask.extraUnits + (ask.rest?.mostUnits ?? 0)
  assertMoney(units >= 0 && units <= most, 'grant_within_request', keyId, units, most)
  const granted = sumUnits(grants)
  assertMoney(granted <= units && coinNanos >= 0, 'hold_is_its_parts', keyId, granted, units)
}

function parseGrants(text: string): LeaseAnswer['grants'] {
  if (text === '') return []
  return text.split(';').map((grant) => {
    const [grantId = '', expiresAtMs, units] = grant.split(',')
    return { grantId, expiresAtMs: Number(expiresAtMs), units: Number(units) }
  })
}
