import type { RefusalFigures } from '../../../contract/errors/figures.ts'
import { valueOfCoin } from '../../../contract/money/coin.ts'
import { formatUsd, UNITS_PER_USD } from '../../../contract/money/units.ts'
import { SPANS } from '../../../contract/money/windows.ts'
import { capName } from '../../../contract/wire/caps.ts'
import type { RefusalRecord } from '../../../contract/wire/refusalRecord.ts'
import { spendingIn } from '../../admission/keySpending.ts'
import { windowsAt } from '../../admission/windows.ts'
import { readAvailable } from '../../identity/accounts/available.ts'
import type { Refusal } from './refusalReads.ts'

/** One check that a request went through, or would have; decimal texts, null where there is none. */
export interface Check {
  readonly check: string
  readonly result: 'passed' | 'refused' | 'not_reached'
  /** The owner of the limit, or the finding. */
  readonly subject: string | null
  readonly unit: 'usd' | 'requests' | 'tokens' | 'routes' | 'models' | null
  readonly limit: string | null
  readonly used: string | null
  readonly available: string | null
  /** The amount that the request needed of it. */
  readonly needed: string | null
}

type Figure = Omit<Check, 'result'> & { readonly isMet: boolean }

/** The checks of errors that do not name theirs. */
const CHECK_OF: Readonly<Record<string, string>> = {
  key_paused: 'key',
  invalid_api_key: 'key',
  model_not_found: 'allowed_models',
  model_not_allowed: 'allowed_models',
  tool_not_allowed: 'allowed_models',
  model_unavailable: 'routes',
  model_unverified: 'routes',
  no_route_for_policy: 'routes',
  request_cap_exceeded: 'agent_request_cap',
  rate_limited: 'rate',
  insufficient_balance: 'balance',
}
const FIRST_SERVER_ERROR = 500

/** The checks of a refused request, in their order. @param keyState of a key that is not in force, else '' */
export function checksOf(refusal: Refusal, keyState: string): Check[] {
  const { record } = refusal
  const met = refusedBy(record)
  const figures = [
    keyFigure(refusal, keyState, met),
    ...(met === 'request' || met === 'gateway' ? [figure(met, met, { subject: record.error })] : []),
    modelsFigure(record, met),
    ...priceFigures(record.figures),
    ...routeFigures(record, met),
    ...agentFigures(record, met),
    ...limitFigures(record.figures),
    ...rateFigures(record, met),
    ...balanceFigures(refusal, met),
    ...capFigures(refusal, met, true),
    ...capFigures(refusal, met, false),
  ]
  const refused = figures.findIndex(({ isMet }) => isMet)
  return figures.map(({ isMet, ...shown }, i) => ({
    ...shown,
    result: isMet ? 'refused' : i < refused ? 'passed' : 'not_reached',
  }))
}

function refusedBy({ error, status, figures }: RefusalRecord): string {
  return figures.refusedBy ?? CHECK_OF[error] ?? (status >= FIRST_SERVER_ERROR ? 'gateway' : 'request')
}

function figure(check: string, met: string, more: Partial<Omit<Figure, 'check'>>): Figure {
  const none = { subject: null, unit: null, limit: null, used: null, available: null, needed: null }
  return { check, ...none, isMet: check === met, ...more }
}

function keyFigure({ record: { settings }, atMs }: Refusal, keyState: string, met: string): Figure {
  if (settings === undefined) return figure('key', met, { subject: keyState })
  const isOver = settings.expiresAtMs !== 0 && settings.expiresAtMs <= atMs
  return figure('key', met, { subject: settings.paused ? 'paused' : isOver ? 'expired' : 'in force' })
}

function modelsFigure({ settings, figures }: RefusalRecord, met: string): Figure {
  const limit = settings?.models ?? null
  return figure('allowed_models', met, {
    subject: figures.model ?? null,
    unit: 'models',
    limit: limit === null ? null : String(limit),
  })
}

function priceFigures({ prices }: RefusalFigures): Figure[] {
  if (prices === undefined) return []
  const of = (check: string, limit: number | null, needed: number): Figure[] =>
    limit === null
      ? []
      : [
          figure(check, '', {
            subject: 'a million tokens',
            unit: 'usd',
            limit: formatUsd(limit),
            needed: formatUsd(needed),
            isMet: needed > limit,
          }),
        ]
  return [
    ...of('max_price_prompt', prices.maxInput, prices.input),
    ...of('max_price_completion', prices.maxOutput, prices.output),
  ]
}

function routeFigures({ figures: { routes, model }, error }: RefusalRecord, met: string): Figure[] {
  if (routes === undefined) return met === 'routes' ? [figure('routes', met, { subject: model ?? error })] : []
  const { enabled, allowed, open } = routes
  const subject = `${enabled} enabled, ${allowed} allowed for this request, ${open} can be asked`
  return [figure('routes', met, { subject, unit: 'routes', available: String(open), needed: '1' })]
}

function agentFigures({ settings, figures }: RefusalRecord, met: string): Figure[] {
  const capUnits = settings?.requestCapUnits ?? null
  if (capUnits === null) return []
  return [figure('agent_request_cap', met, { unit: 'usd', limit: formatUsd(capUnits), needed: neededOf(figures) })]
}

function limitFigures({ limits, tokensMax }: RefusalFigures): Figure[] {
  return (limits ?? []).map(({ check, subject, limit, used, isMet }) => {
    const isTokens = check === 'tokens_per_minute'
    return figure(check, '', {
      subject,
      unit: isTokens ? 'tokens' : 'requests',
      limit: String(limit),
      used: used === null ? null : String(used),
      available: used === null ? null : String(Math.max(0, limit - used)),
      needed: isTokens ? String(tokensMax ?? 0) : '1',
      isMet,
    })
  })
}

function rateFigures({ settings, retryAfterSeconds }: RefusalRecord, met: string): Figure[] {
  if (settings === undefined) return []
  const isMet = met === 'rate'
  return [
    figure('rate', met, {
      subject: isMet ? `a minute; free after ${retryAfterSeconds} s` : 'a minute',
      unit: 'requests',
      limit: String(settings.requestsPerMinute),
      available: isMet ? '0' : null,
      needed: '1',
    }),
  ]
}

function balanceFigures({ record: { figures, state }, atMs }: Refusal, met: string): Figure[] {
  const [coin = null, grants = null] = state?.balance ?? []
  const available = coin === null ? undefined : readAvailable(coin, grants, atMs)
  if (available === undefined) return met === 'balance' ? [figure('balance', met, { needed: neededOf(figures) })] : []
  const { coinNanos, creditUnits } = available
  const ofCoin = valueOfCoin(Math.abs(coinNanos), figures.coinUsdUnits ?? UNITS_PER_USD)
  const units = (coinNanos < 0 ? -ofCoin : ofCoin) + creditUnits.reduce((sum, credit) => sum + credit, 0)
  return [
    figure('balance', met, {
      subject: 'coin and credits',
      unit: 'usd',
      available: usd(units),
      needed: neededOf(figures),
    }),
  ]
}

function capFigures({ record, atMs }: Refusal, met: string, isPlatforms: boolean): Figure[] {
  const { settings, state, figures } = record
  const caps = (isPlatforms ? settings?.platformCaps : settings?.caps) ?? []
  const counters = isPlatforms ? state?.platformCounters : state?.counters
  const spent = counters && spendingIn(counters, windowsAt(atMs))
  return SPANS.flatMap((span, i) => {
    const cap = caps[i] ?? ''
    if (cap === '') return []
    const [limit, used] = [Number(cap), spent?.[span]]
    return figure(capName({ span, isPlatforms }), met, {
      subject: isPlatforms ? 'the platform key' : 'the key',
      unit: 'usd',
      limit: usd(limit),
      used: used === undefined ? null : usd(used),
      available: used === undefined ? null : usd(Math.max(0, limit - used)),
      needed: neededOf(figures),
    })
  })
}

function neededOf({ leastUnits }: RefusalFigures): string | null {
  return leastUnits === undefined ? null : formatUsd(leastUnits)
}

/** Sums of grants may be beyond what one amount can be. */
function usd(units: number): string {
  return formatUsd(Math.max(-Number.MAX_SAFE_INTEGER, Math.min(units, Number.MAX_SAFE_INTEGER)))
}
