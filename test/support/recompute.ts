import assert from 'node:assert/strict'
import type { Receipt } from './clients/chatClient.ts'

type Rates = Readonly<Record<string, string>>
type PublicPrice = Rates & { readonly long_context?: Rates & { readonly threshold: number } }

/** What this reads of GET /v1/pricing/sheets/{version}. */
export interface PublicSheet {
  readonly models: ReadonlyArray<{ id: string; price: PublicPrice; price_private?: PublicPrice }>
}

/**
 * The charge of a request that is priced by the token, by the rules of docs/concepts/holds-and-charges.md. It shares nothing
 * with the gateway on purpose.
 */
export function recomputedUnits(receipt: Receipt, sheet: PublicSheet): bigint {
  const { usage, rate, tier } = receipt
  const listed = sheet.models.find(({ id }) => id === receipt.model)
  const price = tier === 'private' ? listed?.price_private : listed?.price
  assert.ok(price !== undefined, `${receipt.model} is on the sheet`)
  const prefix = rate === 'batch' ? 'batch_' : ''
  const long = price.long_context
  const isLong = long?.[`${prefix}input`] !== undefined && usage.prompt_tokens > long.threshold
  const set: Rates = isLong ? long : price
  const nanos = (key: string) => nanosOf(set[prefix + key] ?? set[`${prefix}input`])
  const written5m = usage.cache_write_tokens - usage.cache_write_1h_tokens
  const sum =
    BigInt(usage.prompt_tokens - usage.cached_tokens - usage.cache_write_tokens) * nanos('input') +
    BigInt(usage.cached_tokens) * nanos('cached_input') +
    BigInt(written5m) * nanos('cache_write_5m') +
    BigInt(usage.cache_write_1h_tokens) * nanos('cache_write_1h') +
    BigInt(usage.completion_tokens) * nanos('output')
  return (sum + 999_999n) / 1_000_000n
}

/** A decimal of USD, times 1e9. */
function nanosOf(usd: string | undefined): bigint {
  const [whole = '', fraction = ''] = String(usd).split('.')
  return BigInt(whole + fraction.padEnd(9, '0'))
}
