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
    models: turnModels(OVER, model),
  }
}

/**
 * A model of each of these providers, under its name, for clients of chats, Messages and Responses.
 * @param more members of the models beside those
 */
export function turnModels(providers: readonly string[], more: Readonly<Record<string, unknown>> = {}) {
  return providers.map((id) => ({
    id: `test/${id}`,
    endpoints: ['chat', 'messages', 'responses'],
    routes: [{ provider: id, model: 'm' }],
    ...more,
  }))
}
