import { type RateSet, resolveBatchRates, resolveRateSet } from '../../../contract/money/charge.ts'
import { formatUsd } from '../../../contract/money/units.ts'
import type { Path, YamlFile } from '../../runtime/files/yamlFile.ts'
import { statedRates, TOKEN_CLASSES } from './price.ts'

/** Prices of tokens as read, and their place in the file. */
export interface TokenPrices {
  readonly path: Path
  readonly amounts: Map<string, number>
}

/**
 * Refuses batch rates above the standard ones, and states the rates of the classes that cost less in a batch than its
 * input does, so that the price sheet says them.
 * @param long the rates of long prompts; where they have no batch rates, those of `base` hold for long prompts as well
 */
export function completeBatchRates(file: YamlFile, base: TokenPrices, long: TokenPrices | undefined): void {
  const batch = completeSet(file, base)
  if (long === undefined || completeSet(file, long) !== undefined || batch === undefined) return
  const standard = standardOf(long)
  for (const [key, rate] of TOKEN_CLASSES) {
    if (standard === undefined || batch[rate] <= standard[rate]) continue
    const what = `${key} ${formatUsd(standard[rate])} is below the batch rate ${formatUsd(batch[rate])}`
    file.problem(long.path, `needs its own batch rates: for long prompts, ${what}`)
  }
}

/** @returns the batch rates in full, or undefined where there are none */
function completeSet(file: YamlFile, prices: TokenPrices): RateSet | undefined {
  const stated = statedRates(prices.amounts, 'batch_')
  const standard = standardOf(prices)
  if (stated === undefined || standard === undefined) return undefined
  const batch = resolveBatchRates(stated, standard)
  for (const [key, rate] of TOKEN_CLASSES) {
    const batchKey = `batch_${key}`
    if (prices.amounts.has(batchKey)) {
      if (batch[rate] <= standard[rate]) continue
      file.problem(
        [...prices.path, batchKey],
        `must not be above the standard rate, which is ${formatUsd(standard[rate])}`,
      )
    } else if (batch[rate] < batch.input && rate !== 'output') {
      prices.amounts.set(batchKey, batch[rate])
    }
  }
  return batch
}

function standardOf({ amounts }: TokenPrices): RateSet | undefined {
  const stated = statedRates(amounts, '')
  return stated && resolveRateSet(stated)
}
