import type { RateSet } from '../../contract/money/charge.ts'
import type { Queryable } from '../runtime/db/pool.ts'

/** The classes of tokens: their names in answers, and their rates. */
export const CLASSES = [
  ['input', 'input'],
  ['cached_input', 'cachedInput'],
  ['cache_write_5m', 'cacheWrite5m'],
  ['cache_write_1h', 'cacheWrite1h'],
  ['output', 'output'],
] as const satisfies ReadonlyArray<readonly [string, keyof RateSet]>
export type TokenClass = (typeof CLASSES)[number][0]

/** The tokens of one model in the basket, by class. */
export interface BasketItem {
  readonly model: string
  readonly tokens: Readonly<Record<TokenClass, number>>
}

/** The basket that the index is computed over. Days are since 1970, UTC. */
export interface Basket {
  readonly id: number
  readonly weights: 'tokens' | 'equal'
  readonly baseFrom: number
  readonly baseTo: number
  readonly items: readonly BasketItem[]
}

interface BasketRow {
  readonly id: number
  readonly weights: Basket['weights']
  readonly base_from: number
  readonly base_to: number
  readonly items: string
}

/** All baskets, the newest first. */
export async function readBaskets(db: Queryable): Promise<Basket[]> {
  const { rows } = await db.query<BasketRow>(
    'SELECT id, weights, base_from, base_to, items FROM index_baskets ORDER BY id DESC',
  )
  return rows.map(({ id, weights, base_from: baseFrom, base_to: baseTo, items }) => {
    return { id, weights, baseFrom, baseTo, items: JSON.parse(items) as BasketItem[] }
  })
}

/** Keeps a basket under the next number; another process may have done so before. */
export async function insertBasket(db: Queryable, basket: Omit<Basket, 'id'>): Promise<void> {
  await db.query(
    `INSERT INTO index_baskets (id, weights, base_from, base_to, items)
     SELECT coalesce(max(id), 0) + 1, $1, $2, $3, $4 FROM index_baskets ON CONFLICT DO NOTHING`,
    [basket.weights, basket.baseFrom, basket.baseTo, JSON.stringify(basket.items)],
  )
}

/** The cost of a model's tokens at some rates: units per million tokens times tokens, exact. */
export function costOf({ tokens }: BasketItem, rates: RateSet): bigint {
  return CLASSES.reduce((sum, [name, rate]) => sum + BigInt(tokens[name]) * BigInt(rates[rate]), 0n)
}
