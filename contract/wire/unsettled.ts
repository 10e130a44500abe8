import { type CoinPart, parseCoinPart } from './coinPart.ts'
import { type GrantPart, parseGrants } from './grantParts.ts'

/** An amount of coin and of grants. */
interface Amount extends CoinPart {
  readonly grants: readonly GrantPart[]
}

/** The name in the leases of an owner of the charges of a lease that are not settled. @param field of the lease */
export function chargesField(field: string): string {
  return `C${field.slice(1)}`
}

/** Parses the charges of a lease that are not settled, `coin|grantId=units,...`; nothing for null. */
export function parseCharges(text: string | null | undefined): Amount {
  if (text === null || text === undefined) return { coinUnits: 0, coinNanos: 0, grants: [] }
  const [coin = '', parts = ''] = text.split('|')
  return { ...parseCoinPart(coin), grants: parseGrants(parts) }
}

/** The amount that a lease has without its charges. Once no coin is left, none of its units is counted. */
export function withoutCharges(out: Amount, charged: Amount): Amount {
  const coinNanos = Math.max(0, out.coinNanos - charged.coinNanos)
  const spent = new Map(charged.grants.map(({ grantId, units }) => [grantId, units]))
  return {
    coinUnits: coinNanos === 0 ? 0 : Math.max(0, out.coinUnits - charged.coinUnits),
    coinNanos,
    grants: out.grants.map(({ grantId, units }) => {
      return { grantId, units: Math.max(0, units - (spent.get(grantId) ?? 0)) }
    }),
  }
}
