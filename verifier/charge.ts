import { Failed, must } from './failed.ts'
import { type Series, sheetPart } from './lock.ts'
import { dividedUp, MAX_UNITS } from './money.ts'
import type { Receipt, TokenUsage } from './receipt.ts'
import type { Price, Prices, Sheet, SheetModel } from './sheet.ts'

const MILLION = 1_000_000n

/** The names of the prices of classes of tokens; with the prefix `batch_` for batches. */
const CLASSES = {
  input: 'input',
  cachedInput: 'cached_input',
  cacheWrite5m: 'cache_write_5m',
  cacheWrite1h: 'cache_write_1h',
  output: 'output',
} as const
type TokenClass = keyof typeof CLASSES
type Rates = Readonly<Record<TokenClass, bigint>>

/** The kinds of prices that a receipt may be charged by: more than one if it does not name the kind. */
interface Kind {
  readonly rate: string
  readonly tier: string
}

/**
 * Checks the charge of a receipt against the price sheet that it names, and its burnt tokens against their series.
 * @param series of the burnt tokens; undefined where none were burnt
 * @returns how the charge is computed
 * @throws Failed for a wrong charge
 */
export function checkCharge(receipt: Receipt, sheet: Sheet, series?: Series): string {
  const { cost, hold, clamped, sheetVersion, lock } = receipt
  must(sheet.version === sheetVersion, `the sheet is version ${sheet.version}, the receipt names ${sheetVersion}`)
  const taken = cost.units + (lock?.units ?? 0n)
  must(taken <= hold.units, `${taken} units were charged of ${hold.units} held`)
  if (receipt.status !== 'ok' && receipt.status !== 'partial') {
    must(taken === 0n && !clamped, `a request that is ${receipt.status} is not charged`)
    return `nothing, because the request is ${receipt.status}`
  }
  // The upstream of a tool bills some unusable answers; they are charged at the billed amount, which no sheet has.
  if (receipt.endpoint === 'tools' && receipt.status === 'partial') {
    return `${cost.units} units, within the hold: an answer that failed costs what the upstream of the tool billed`
  }
  const whole = receipt.endpoint === 'tools' ? [toolDue(receipt, sheet)] : modelDues(receipt, sheet)
  const dues = whole.map((units) => besideTokens(receipt, units, series))
  const fitting = dues.filter((units) => isCharged(receipt, units))
  const due = fitting.find((units) => units === cost.units) ?? fitting[0]
  if (due !== undefined) return chargeText(receipt, due)
  throw new Failed(`${cost.units} units${clamped ? ', clamped' : ''}, where the sheet has ${dues.join(' or ')}`)
}

/** A charge may be less than the amount due: a hold can be lost while its account has no balance left. */
function isCharged(receipt: Receipt, due: bigint): boolean {
  return receipt.clamped === due > heldBesideTokens(receipt) && receipt.cost.units <= due
}

/** The least amount of credits and coin that was held; exact if all held tokens were burnt. */
function heldBesideTokens({ hold, lock }: Receipt): bigint {
  return hold.units - (lock?.units ?? 0n)
}

function chargeText(receipt: Receipt, due: bigint): string {
  const { cost, clamped, lock } = receipt
  const tokens = lock === null ? '' : ` and ${lock.units} units of tokens`
  if (cost.units === due) return `${due} units${tokens}`
  const held = heldBesideTokens(receipt)
  if (clamped && cost.units === held) return `${held} units of ${due}${tokens}, because no more was held`
  return `${cost.units} units of ${due}, which is less than it may be`
}

/** The amount due from credits and coin. @throws Failed if the burnt tokens do not match the request */
function besideTokens(receipt: Receipt, units: bigint, series: Series | undefined): bigint {
  const { lock, model, usage } = receipt
  if (lock === null) return units
  if (series === undefined) throw new Failed(`series ${lock.series} was not given`)
  must(series.model === model, `series ${series.id} is of ${series.model}, the receipt of ${model}`)
  must(
    receipt.rate === 'standard' && receipt.tier === 'standard',
    'tokens are burnt at the standard rate and tier alone',
  )
  const rates = ratesOf(series.price, { rate: 'standard', tier: 'standard' }, usage)
  if (rates === undefined) throw new Failed(`series ${series.id} has no prices of tokens`)
  return sheetPart(lock, series, tokenDue(usage, rates), units)
}

function toolDue({ model, quantity }: Receipt, sheet: Sheet): bigint {
  const { call, result } = sheet.tool(model)
  return atMost(call + result * BigInt(quantity))
}

function modelDues(receipt: Receipt, sheet: Sheet): bigint[] {
  const model = sheet.model(receipt.model)
  const dues = kindsOf(receipt).flatMap((kind) => {
    const price = kind.tier === 'private' ? model.private : model.standard
    if (price === undefined) return []
    if (model.unit !== 'million_tokens') return countedDues(receipt, model, price, kind)
    const rates = ratesOf(price, kind, receipt.usage)
    return rates === undefined ? [] : [tokenDue(receipt.usage, rates)]
  })
  const { rate, tier } = receipt
  must(dues.length > 0, `the sheet does not sell ${receipt.model} at the rate ${rate} in the tier ${tier}`)
  return dues.map(atMost)
}

function kindsOf({ rate, tier }: Receipt): Kind[] {
  const rates = rate === '' ? ['standard', 'batch'] : [rate]
  const tiers = tier === '' ? ['standard', 'private'] : [tier]
  return rates.flatMap((one) => tiers.map((other) => ({ rate: one, tier: other })))
}

const atMost = (units: bigint): bigint => (units > MAX_UNITS ? MAX_UNITS : units)

/** The possible charges of counted units: images, characters, seconds, searches. */
function countedDues(receipt: Receipt, { unit }: SheetModel, { amounts, sizes }: Price, { rate }: Kind): bigint[] {
  if (rate === 'batch') return []
  const isPerMillion = unit === 'million_characters'
  const counted = isPerMillion ? 'character' : unit
  must(receipt.quantity === 0 || receipt.unit === counted, `the sheet counts ${unit}, the receipt ${receipt.unit}`)
  const prices =
    receipt.size === '' ? [amounts.get(counted), ...unnamedSizes(receipt, sizes)] : [sizes.get(receipt.size)]
  const due = (price: bigint) => dividedUp(BigInt(receipt.quantity) * price, isPerMillion ? MILLION : 1n)
  return prices.flatMap((price) => (price === undefined ? [] : [due(price)]))
}

/** Receipts of the first layout may have a size that they do not name. */
function unnamedSizes({ place }: Receipt, sizes: Prices): bigint[] {
  return place.entry.startsWith('sluice-receipt/1\n') ? [...sizes.values()] : []
}

/** The rates of a prompt of this many tokens; undefined where the sheet has none of the kind. */
function ratesOf(price: Price, { rate }: Kind, usage: TokenUsage): Rates | undefined {
  const standard = ratesIn(price, '', usage)
  if (standard === undefined || rate !== 'batch') return standard?.rates
  const batch = ratesIn(price, 'batch_', usage)
  if (batch === undefined) return undefined
  // Without a batch price of their own, cache reads and writes cost no more in a batch than outside of one.
  const usual = ratesFrom(batch.from, '')
  const most = (name: TokenClass): bigint =>
    batch.from.has(`batch_${CLASSES[name]}`) || usual === undefined || batch.rates[name] < usual[name]
      ? batch.rates[name]
      : usual[name]
  return {
    ...batch.rates,
    cachedInput: most('cachedInput'),
    cacheWrite5m: most('cacheWrite5m'),
    cacheWrite1h: most('cacheWrite1h'),
  }
}

function ratesIn(
  { amounts, long }: Price,
  prefix: string,
  { input, cachedInput, cacheWrite5m, cacheWrite1h }: TokenUsage,
) {
  const isLong = long !== undefined && input + cachedInput + cacheWrite5m + cacheWrite1h > long.threshold
  const from = isLong && long.amounts.has(`${prefix}input`) ? long.amounts : amounts
  const rates = ratesFrom(from, prefix)
  return rates && { from, rates }
}

/** A class without its own price has the price of input. */
function ratesFrom(prices: Prices, prefix: string): Rates | undefined {
  const input = prices.get(`${prefix}input`)
  if (input === undefined) return undefined
  const of = (name: TokenClass): bigint => prices.get(prefix + CLASSES[name]) ?? input
  return {
    input,
    cachedInput: of('cachedInput'),
    cacheWrite5m: of('cacheWrite5m'),
    cacheWrite1h: of('cacheWrite1h'),
    // Every model with output tokens has a price for them.
    output: prices.get(prefix + CLASSES.output) ?? 0n,
  }
}

/** One sum over all classes, divided once. */
function tokenDue(usage: TokenUsage, rates: Rates): bigint {
  const sum = Object.keys(CLASSES).reduce(
    (total, name) => total + BigInt(usage[name as TokenClass]) * rates[name as TokenClass],
    0n,
  )
  return dividedUp(sum, MILLION)
}
