import { MAX_UNITS } from './units.ts'

const TOKENS_PER_PRICE = 1_000_000

/** Units per million tokens for every class of tokens; classes without their own price carry the input price. */
export interface RateSet {
  readonly input: number
  readonly output: number
  readonly cachedInput: number
  readonly cacheWrite5m: number
  readonly cacheWrite1h: number
}

/** The rates of a model: the base set, and the set for prompts above `longThreshold` tokens (0: none). */
export interface ModelRates extends RateSet {
  readonly longThreshold: number
  readonly long: RateSet
}

/** The usage that a provider bills, in tokens. The classes do not overlap. */
export interface TokenUsage {
  readonly input: number
  readonly cachedInput: number
  readonly cacheWrite5m: number
  readonly cacheWrite1h: number
  readonly output: number
  /** Part of `output`; shown on the receipt, never added. */
  readonly reasoning: number
}

/** Nothing was used, or nothing that is priced by the token. */
export const NO_USAGE: Readonly<TokenUsage> = {
  input: 0,
  cachedInput: 0,
  cacheWrite5m: 0,
  cacheWrite1h: 0,
  output: 0,
  reasoning: 0,
}

/** Rates as stated, with the classes that have no price of their own absent. */
export interface StatedRates {
  readonly input: number
  readonly output: number
  readonly cachedInput?: number | null
  readonly cacheWrite5m?: number | null
  readonly cacheWrite1h?: number | null
}

/** Fills in the classes without their own price with the input price. */
export function resolveRateSet(stated: StatedRates): RateSet {
  return {
    input: stated.input,
    output: stated.output,
    cachedInput: stated.cachedInput ?? stated.input,
    cacheWrite5m: stated.cacheWrite5m ?? stated.input,
    cacheWrite1h: stated.cacheWrite1h ?? stated.input,
  }
}

/**
 * The rates of a batch: a class without its own price costs what input costs in a batch, or its standard rate where
 * that is lower, so that no batch is dearer than the same request without it.
 * @param standard the rates of the same prompts without a batch
 */
export function resolveBatchRates(stated: StatedRates, standard: RateSet): RateSet {
  return {
    input: stated.input,
    output: stated.output,
    cachedInput: stated.cachedInput ?? Math.min(stated.input, standard.cachedInput),
    cacheWrite5m: stated.cacheWrite5m ?? Math.min(stated.input, standard.cacheWrite5m),
    cacheWrite1h: stated.cacheWrite1h ?? Math.min(stated.input, standard.cacheWrite1h),
  }
}

/** The rate set that holds for a prompt of this many tokens, cached ones included. */
export function rateSetFor(rates: ModelRates, promptTokens: number): RateSet {
  return rates.longThreshold > 0 && promptTokens > rates.longThreshold ? rates.long : rates
}

/** Every prompt token of a usage, cached or not. */
export function promptTokens(usage: TokenUsage): number {
  return usage.input + usage.cachedInput + usage.cacheWrite5m + usage.cacheWrite1h
}

/**
 * The charge for a usage: one sum of tokens times price over all classes, one division, rounded up.
 * @returns units, exact; MAX_UNITS when the charge would exceed what any hold can cover
 */
export function chargeUnits(rates: ModelRates, usage: TokenUsage): number {
  const set = rateSetFor(rates, promptTokens(usage))
  // A product of two integers in doubles is either exact or at least 2^53, so a safe sum proves all its parts exact.
  const sum =
    usage.input * set.input +
    usage.cachedInput * set.cachedInput +
    usage.cacheWrite5m * set.cacheWrite5m +
    usage.cacheWrite1h * set.cacheWrite1h +
    usage.output * set.output
  if (sum <= MAX_UNITS) return unitsOf(sum)
  return chargeUnitsWide(set, usage)
}

/** Units for a safe sum of tokens times price: divided by a million, rounded up, exact. */
function unitsOf(priceTokens: number): number {
  const rest = priceTokens % TOKENS_PER_PRICE
  return (priceTokens - rest) / TOKENS_PER_PRICE + (rest > 0 ? 1 : 0)
}

/**
 * The units that cover a prompt and an output at these prices.
 * @returns units, exact; MAX_UNITS when they exceed what any hold can cover
 */
export function worstCaseUnits(
  promptTokens: number,
  promptPrice: number,
  outputTokens: number,
  outputPrice: number,
): number {
  const sum = promptTokens * promptPrice + outputTokens * outputPrice
  if (sum <= MAX_UNITS) return unitsOf(sum)
  return unitsOfWide(BigInt(promptTokens) * BigInt(promptPrice) + BigInt(outputTokens) * BigInt(outputPrice))
}

function unitsOfWide(priceTokens: bigint): number {
  const units = (priceTokens + 999_999n) / 1_000_000n
  return units > BigInt(MAX_UNITS) ? MAX_UNITS : Number(units)
}

function chargeUnitsWide(set: RateSet, usage: TokenUsage): number {
  return unitsOfWide(
    BigInt(usage.input) * BigInt(set.input) +
      BigInt(usage.cachedInput) * BigInt(set.cachedInput) +
      BigInt(usage.cacheWrite5m) * BigInt(set.cacheWrite5m) +
      BigInt(usage.cacheWrite1h) * BigInt(set.cacheWrite1h) +
      BigInt(usage.output) * BigInt(set.output),
  )
}

/**
 * The output tokens that `units` can pay in addition to a prompt; for holds that shrank to the balance.
 * @returns tokens, 0 when the prompt alone costs more
 */
export function affordableTokens(
  units: number,
  promptTokens: number,
  promptPrice: number,
  outputPrice: number,
): number {
  const left = BigInt(units) * 1_000_000n - BigInt(promptTokens) * BigInt(promptPrice)
  if (left <= 0n) return 0
  if (outputPrice === 0) return MAX_UNITS
  const tokens = left / BigInt(outputPrice)
  return tokens > BigInt(MAX_UNITS) ? MAX_UNITS : Number(tokens)
}
