import { isJsonObject, type JsonObject } from '../../../contract/std/jsonObject.ts'

/** A page that a part of the text is taken from, as an annotation of a response has it. */
export interface Citation {
  readonly type: 'url_citation'
  readonly url: string
  readonly title: string
  /** Of the part of the text, in characters. */
  readonly start_index: number
  readonly end_index: number
}

const NONE: readonly Citation[] = []

/** Reads the `annotations` of a message or a delta of the OpenAI dialect. @param max further ones are left out */
export function citationsIn(annotations: unknown, max: number): Citation[] {
  if (!Array.isArray(annotations)) return []
  const read = (annotations as unknown[]).slice(0, max).map(citationOf)
  return read.filter((citation) => citation !== null)
}

/**
 * The pages that Perplexity and others list beside the choices of an answer, as citations of no place in its text:
 * docs.perplexity.ai/api-reference/chat-completions-post.
 * @param cited citations of the answer, whose pages are left out
 * @param max further ones are left out
 */
export function pagesIn(
  { search_results: results, citations }: JsonObject,
  cited: readonly Citation[],
  max: number,
): readonly Citation[] {
  const listed = [results, citations].flatMap((list) => (Array.isArray(list) ? (list as unknown[]) : []))
  if (listed.length === 0) return NONE
  const known = new Set(cited.map(({ url }) => url))
  const pages: Citation[] = []
  for (const page of listed) {
    const { url, title } = isJsonObject(page) ? page : { url: page, title: '' }
    const citation = citationOf({ type: 'url_citation', url, title })
    if (citation === null || known.has(citation.url) || cited.length + pages.length >= max) continue
    known.add(citation.url)
    pages.push(citation)
  }
  return pages
}

function citationOf(annotation: unknown): Citation | null {
  if (!isJsonObject(annotation) || annotation['type'] !== 'url_citation') return null
  const { url_citation: cited } = annotation
  const { url, title, start_index: start, end_index: end } = isJsonObject(cited) ? cited : annotation
  if (typeof url !== 'string' || url === '') return null
  const shown = typeof title === 'string' ? title : ''
  return { type: 'url_citation', url, title: shown, start_index: placeOf(start), end_index: placeOf(end) }
}

function placeOf(value: unknown): number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : 0
}
