import { QuotaCode, type ScriptArgument } from '../../contract/wire/scripts.ts'
import type { Denial, PotUse } from './permit.ts'
import type { Pot } from './pot.ts'

const HEAD = 3
const PER_REQUEST = 4
const PER_POT = 4

/** Tokens that a request took of a pot and did not use; below zero for more than it took. */
export interface Correction {
  readonly pot: Pot
  readonly second: number
  readonly tokens: number
}

/** A request for permits. */
export interface PermitAsk {
  readonly pots: readonly Pot[]
  readonly tokens: number
}

/** One call of quota.lua. */
export interface QuotaCall {
  /** Pots whose permits in flight are stated. */
  readonly stated: readonly Pot[]
  readonly corrections: readonly Correction[]
  readonly asks: readonly PermitAsk[]
}

/** The answer to a call; the answers of requests in their order. */
export interface QuotaAnswer {
  readonly second: number
  readonly requests: ReadonlyArray<Omit<Denial, 'uses'> | 'permitted'>
  readonly uses: ReadonlyMap<string, PotUse>
}

/** Keys and arguments of quota.lua after those of the owner. @param flying the permits of the owner in flight, by pot */
export function quotaArguments(
  { stated, corrections, asks }: QuotaCall,
  flying: (key: string) => number,
): { readonly pots: readonly Pot[]; readonly args: readonly ScriptArgument[] } {
  const places = new Map<string, number>()
  const pots: Pot[] = []
  // The last one of a name has the limits that are in force.
  const placeOf = (pot: Pot): number => {
    const known = places.get(pot.key)
    if (known !== undefined) {
      pots[known - 1] = pot
      return known
    }
    places.set(pot.key, pots.push(pot))
    return pots.length
  }
  for (const pot of stated) placeOf(pot)
  const rest: ScriptArgument[] = [corrections.length]
  for (const { pot, second, tokens } of corrections) rest.push(placeOf(pot), second, tokens)
  rest.push(asks.length)
  for (const ask of asks) rest.push(ask.tokens, ask.pots.length, ...ask.pots.map(placeOf))
  const args: ScriptArgument[] = []
  for (const pot of pots) args.push(pot.requestsPerMinute, pot.tokensPerMinute, pot.parallel, flying(pot.key))
  return { pots, args: [...args, ...rest] }
}

/**
 * @param pots as in the keys of the call
 * @returns undefined for a call that came too late and did nothing
 * @throws Error when Redis answers another number of values
 */
export function quotaAnswer(
  reply: readonly unknown[],
  pots: readonly Pot[],
  askCount: number,
): QuotaAnswer | undefined {
  const values = reply.map(Number)
  if (values[0] === QuotaCode.STALE) return undefined
  const usesAt = HEAD + askCount * PER_REQUEST
  if (values.length !== usesAt + pots.length * PER_POT) throw new Error(`quota.lua answered ${values.length} values`)
  const uses = pots.map((pot, i): [string, PotUse] => {
    const [requests = 0, tokens = 0, resetMs = 0] = values.slice(usesAt + i * PER_POT)
    return [pot.key, { pot, requests, tokens, resetMs }]
  })
  const requests = Array.from({ length: askCount }, (_, i) => {
    const [code, place = 0, waitMs = 0, limit = 0] = values.slice(HEAD + i * PER_REQUEST)
    const pot = pots[place - 1]
    return code === QuotaCode.OK ? 'permitted' : { code, waitMs, limit, ...(pot && { pot }) }
  })
  return { second: values[2] ?? 0, requests, uses: new Map(uses) }
}
