import { TOKEN_TYPES } from './modelBuckets.ts'
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
    for (const [i, { type, isInput }] of TOKEN_TYPES.entries()) {
      if (isInput) sum.prompt += tokens[i] ?? 0
      if (type === 'cached_input') sum.cached += tokens[i] ?? 0
    }
    byKey.set(`${provider}/${key}`, sum)
  }
  return [...byKey].filter(([, { prompt }]) => prompt > 0).map(([key, sum]) => ({ key, ...sum }))
}
