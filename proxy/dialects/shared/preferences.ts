import { GatewayError, invalidRequest } from '../../../contract/errors/errors.ts'
import type { RateSet } from '../../../contract/money/charge.ts'
import { formatUsd, parseUsd } from '../../../contract/money/units.ts'
import { isJsonObject, type JsonObject } from '../../../contract/std/jsonObject.ts'
import { isGiven } from '../../json/fields.ts'

/** A request's own routing preferences. Prices are units per million tokens; null is no preference. */
export interface Preferences {
  readonly allowRetention: boolean | null
  /** Registered providers may serve it; their operators are other accounts. */
  readonly allowRegistered: boolean
  readonly maxInputPrice: number | null
  readonly maxOutputPrice: number | null
  /** Whether max_price was sent, with any value. */
  readonly hasMaxPrice: boolean
}

const NAMES: ReadonlySet<string> = new Set(['allow_retention', 'allow_registered', 'max_price'])
/** Of a price that is read; see `parseUsd`. */
const PRICE_DECIMALS = 9

const NONE: Preferences = {
  allowRetention: null,
  allowRegistered: true,
  maxInputPrice: null,
  maxOutputPrice: null,
  hasMaxPrice: false,
}

/**
 * Reads the member `provider`: allow_retention, allow_registered, and max_price as {prompt, completion} in USD per million tokens. The
 * names input and output are taken too; members that are not known are left out.
 * @throws GatewayError 400 with the field at fault
 */
export function readPreferences(provider: unknown): Preferences {
  if (provider === undefined || provider === null) return NONE
  if (!isJsonObject(provider)) throw invalidRequest('provider must be an object.', 'provider')
  const allowRetention = readFlag(provider, 'allow_retention')
  const allowRegistered = readFlag(provider, 'allow_registered') ?? true
  const maxPrice = provider['max_price'] ?? null
  if (maxPrice === null) return { ...NONE, allowRetention, allowRegistered }
  if (!isJsonObject(maxPrice)) {
    throw invalidRequest(
      'provider.max_price must be {prompt, completion} in USD per million tokens.',
      'provider.max_price',
    )
  }
  return {
    allowRetention,
    allowRegistered,
    maxInputPrice: readPrice(maxPrice, ['prompt', 'input']),
    maxOutputPrice: readPrice(maxPrice, ['completion', 'output']),
    hasMaxPrice: true,
  }
}

/** Whether the member `provider` has preferences of another gateway, which have no effect here. */
export function hasForeignPreferences(provider: unknown): boolean {
  if (!isJsonObject(provider)) return false
  for (const name in provider) if (!NAMES.has(name) && isGiven(provider[name])) return true
  return false
}

/**
 * Holds the prices of a model that is priced by the token against those that a request allows.
 * @throws GatewayError no_route_for_policy
 */
export function checkMaxPrice(
  { maxInputPrice, maxOutputPrice }: Preferences,
  rates: Pick<RateSet, 'input' | 'output'>,
  modelId: string,
): void {
  const tooDear =
    (maxInputPrice !== null && rates.input > maxInputPrice) ||
    (maxOutputPrice !== null && rates.output > maxOutputPrice)
  if (!tooDear) return
  const prices = `${formatUsd(rates.input)} USD for input and ${formatUsd(rates.output)} USD for output`
  throw new GatewayError('no_route_for_policy', {
    message: `${modelId} costs ${prices} per million tokens, more than provider.max_price allows.`,
    param: 'provider.max_price',
    figures: {
      refusedBy: 'max_price',
      model: modelId,
      prices: { input: rates.input, output: rates.output, maxInput: maxInputPrice, maxOutput: maxOutputPrice },
    },
  })
}

/**
 * Refuses provider.max_price on an endpoint that is not priced by the token.
 * @throws GatewayError max_price_unsupported
 */
export function refuseMaxPrice({ hasMaxPrice }: Preferences): void {
  if (hasMaxPrice) throw new GatewayError('max_price_unsupported', { param: 'provider.max_price' })
}

function readFlag(provider: JsonObject, name: string): boolean | null {
  const flag = provider[name] ?? null
  if (flag === null || typeof flag === 'boolean') return flag
  throw invalidRequest(`provider.${name} must be true or false.`, `provider.${name}`)
}

function readPrice(maxPrice: JsonObject, names: readonly string[]): number | null {
  for (const name of names) {
    const value = maxPrice[name]
    if (value === undefined || value === null) continue
    const price = typeof value === 'string' || typeof value === 'number' ? parseUsd(decimalText(value)) : undefined
    if (price === undefined) {
      const field = `provider.max_price.${name}`
      throw invalidRequest(`${field} must be USD per million tokens, with at most nine decimals.`, field)
    }
    return price
  }
  return null
}

/**
 * The shortest decimal text of a number is the intended price, so no float is involved in money. Below a millionth it has an
 * exponent, which is expanded.
 */
function decimalText(value: string | number): string {
  const text = String(value)
  if (typeof value === 'string' || !text.includes('e-')) return text
  const written = value.toFixed(PRICE_DECIMALS)
  return Number(written) === value ? written : text
}
