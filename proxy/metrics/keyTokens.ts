import { labelsOf, type ModelCounts } from './modelMetrics.ts'

/** Tokens of the prompts that were sent with a key of a provider. */
export interface KeyTokens {
  /** `provider/key`. */
  readonly key: string
  /** All of them. */
  readonly prompt: number
  /** Those that the provider had in its cache. */
  readonly cached: number
}

/** The tokens of prompts by key, over all models and operations; those beyond the bound of series are not among them. */
export function keyTokens(counts: ModelCounts): KeyTokens[] {
  const byKey = new Map<string, { prompt: number; cached: number }>()
  for (const [name, { tokens }] of Object.entries(counts)) {
    const { provider, key } = labelsOf(name)
    if (key === '') continue
    const sum = byKey.get(`${provider}/${key}`) ?? { prompt: 0, cached: 0 }
    const { input, cachedInput, cacheWrite5m, cacheWrite1h } = tokens
    sum.prompt += input + cachedInput + cacheWrite5m + cacheWrite1h
    sum.cached += cachedInput
    byKey.set(`${provider}/${key}`, sum)
  }
  return [...byKey].filter(([, { prompt }]) => prompt > 0).map(([key, sum]) => ({ key, ...sum }))
}
