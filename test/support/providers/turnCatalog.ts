import type { TestCatalogOptions } from '../testCatalog.ts'

/** The dialects of providers. */
export const OVER = ['openai', 'anthropic'] as const
/** One of them. */
export type Dialect = (typeof OVER)[number]

/**
 * A catalog with a provider of each dialect and its model, `test/openai` and `test/anthropic`.
 * @param url of a `TurnProvider`, which is both
 * @param model members of the models beside those
 */
export function turnCatalog(url: string, model: Readonly<Record<string, unknown>> = {}): TestCatalogOptions {
  return {
    providers: OVER.map((dialect) => ({ id: dialect, dialect, base_url: url })),
    models: OVER.map((dialect) => ({
      id: `test/${dialect}`,
      endpoints: ['chat', 'messages', 'responses'],
      routes: [{ provider: dialect, model: 'm' }],
      ...model,
    })),
  }
}
