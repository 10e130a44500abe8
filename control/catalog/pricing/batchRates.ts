import { type RateSet, resolveBatchRates, resolveRateSet } from '../../../contract/money/charge.ts'
import { formatUsd } from '../../../contract/money/units.ts'
import { statedRates, TOKEN_CLASSES } from './price.ts'
import type { Field, YamlReader } from './yamlReader.ts'

/** Prices of tokens as read, with the fields that they were read from. */
export interface TokenPrices {
  readonly field: Field
  readonly fields: ReadonlyMap<string, Field>
  readonly amounts: Map<string, number>
}

/**
 * Refuses batch rates above the standard ones, and states the rates of the classes that cost less in a batch than its
 * input does, so that the price sheet says them.
 * @param long the rates of long prompts; where they have no batch rates, those of `base` hold for long prompts as well
 */
export function completeBatchRates(reader: YamlReader, base: TokenPrices, long: TokenPrices | undefined): void {
  const batch = completeSet(reader, base)
  if (long === undefined || completeSet(reader, long) !== undefined || batch === undefined) return
  const standard = standardOf(long)
  for (const [key, rate] of TOKEN_CLASSES) {
    if (standard === undefined || batch[rate] <= standard[rate]) continue
    const what = `${key} ${formatUsd(standard[rate])} is below the batch rate ${formatUsd(batch[rate])}`
    reader.problem(long.field, `needs batch rates of its own: for long prompts, ${what}`)
  }
}

/** @returns the batch rates in full, or undefined where there are none */
function completeSet(reader: YamlReader, prices: TokenPrices): RateSet | undefined {
  const stated = statedRates(prices.amounts, 'batch_')
  const standard = standardOf(prices)
  if (stated === undefined || standard === undefined) return undefined
  const batch = resolveBatchRates(stated, standard)
  for (const [key, rate] of TOKEN_CLASSES) {
    const field = prices.fields.get(`batch_${key}`)
    if (field !== undefined) {
      if (batch[rate] <= standard[rate]) continue
      reader.problem(field, `must not be above the standard rate, which is ${formatUsd(standard[rate])}`)
    } else if (batch[rate] < batch.input && rate !== 'output') {
      prices.amounts.set(`batch_${key}`, batch[rate])
    }
  }
  return batch
}

function standardOf({ amounts }: TokenPrices): RateSet | undefined {
  const stated = statedRates(amounts, '')
  return stated && resolveRateSet(stated)
}
