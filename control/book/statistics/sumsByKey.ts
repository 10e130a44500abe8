import type { Receipt } from '../receipt/generated/receipt.ts'

/** The periods that usage is added up in, in hours. */
export const PERIODS = [1, 24] as const

/** In the order of SUM_COLUMNS. */
export type Sums = readonly [number, number, number, number, number]

/** The part of a receipt that is added up. */
export type SummedReceipt = Pick<
  Receipt,
  | ('heldAtMs' | 'chargeUnits' | 'inputTokens' | 'outputTokens')
  | ('cachedInputTokens' | 'cacheWrite5mTokens' | 'cacheWrite1hTokens')
>

/** The sums of one receipt. */
export function sumsOf(receipt: SummedReceipt): Sums {
  const { inputTokens, cachedInputTokens, cacheWrite5mTokens, cacheWrite1hTokens } = receipt
  const input = inputTokens + cachedInputTokens + cacheWrite5mTokens + cacheWrite1hTokens
  return [1, receipt.chargeUnits, input, cachedInputTokens, receipt.outputTokens]
}

/** Sums by the columns of a key, in the order in which the keys came. */
export class SumsByKey<Key extends readonly (string | number)[], Added extends readonly number[] = Sums> {
  private readonly cells = new Map<string, { readonly key: Key; readonly sums: number[] }>()

  add(key: Key, added: Added): void {
    const name = key.join('\n')
    const known = this.cells.get(name)
    if (known === undefined) this.cells.set(name, { key, sums: [...added] })
    else for (const [i, sum] of added.entries()) known.sums[i] = (known.sums[i] ?? 0) + sum
  }

  get rows(): [...Key, ...Added][] {
    return Array.from(this.cells.values(), ({ key, sums }) => [...key, ...(sums as unknown as Added)])
  }
}
