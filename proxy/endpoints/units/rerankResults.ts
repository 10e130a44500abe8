import { isObject } from '../../json/jsonObject.ts'

/** A document by its place in the request, and how well it answers the query. */
export interface Ranked {
  readonly index: number
  readonly score: number
}

/**
 * Reads the results of a rerank answer, as Cohere, Jina and those that follow them write them.
 * @param documents how many were sent
 * @returns the best first, or null when the results cannot be read
 */
export function readResults(results: unknown, documents: number): Ranked[] | null {
  if (!Array.isArray(results) || results.length === 0 || results.length > documents) return null
  const ranked: Ranked[] = []
  const seen = new Set<number>()
  for (const result of results as unknown[]) {
    if (!isObject(result)) return null
    const index = result['index']
    const score = result['relevance_score'] ?? result['score']
    if (typeof index !== 'number' || !Number.isInteger(index) || index < 0 || index >= documents) return null
    if (typeof score !== 'number' || seen.has(index)) return null
    seen.add(index)
    ranked.push({ index, score })
  }
  return ranked.sort((a, b) => b.score - a.score)
}
