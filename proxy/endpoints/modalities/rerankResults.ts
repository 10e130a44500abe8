import { isJsonObject } from '../../../contract/std/jsonObject.ts'

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
    if (!isJsonObject(result)) return null
    const index = result['index']
    const score = result['relevance_score'] ?? result['score']
    if (typeof index !== 'number' || !Number.isInteger(index) || index < 0 || index >= documents) return null
    if (typeof score !== 'number' || seen.has(index)) return null
    seen.add(index)
    ranked.push({ index, score })
  }
  return ranked.sort((a, b) => b.score - a.score)
}

/** Texts as JSON: one each, or UTF-8 bytes of all, in a row, with the places where each of them ends. */
export type JsonTexts = readonly string[] | { readonly bytes: Uint8Array; readonly ends: readonly number[] }

/**
 * The results as the client gets them, in pieces of JSON.
 * @param returned the texts of the documents, or null where they are not returned
 */
export function resultPieces(ranked: readonly Ranked[], returned: JsonTexts | null): (string | Uint8Array)[] {
  const pieces: (string | Uint8Array)[] = ['[']
  for (const [place, { index, score }] of ranked.entries()) {
    const start = `${place === 0 ? '' : ','}{"index":${index},"relevance_score":${JSON.stringify(score)}`
    if (returned === null) pieces.push(`${start}}`)
    else pieces.push(`${start},"document":{"text":`, jsonText(returned, index), '}}')
  }
  pieces.push(']')
  return pieces
}

function jsonText(texts: JsonTexts, index: number): string | Uint8Array {
  if (!('ends' in texts)) return texts[index] ?? '""'
  return texts.bytes.subarray(index === 0 ? 0 : texts.ends[index - 1], texts.ends[index])
}
