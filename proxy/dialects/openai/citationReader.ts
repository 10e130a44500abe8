import type { JsonObject } from '../../../contract/std/jsonObject.ts'
import { type Citation, citationsIn, pagesIn } from '../shared/citation.ts'
import type { MessageSink } from '../shared/message.ts'

/** Reads what the chunks of a stream cite. */
export class CitationReader {
  private readonly max: number
  /** Citations that were passed on, because some providers repeat them with every chunk. */
  private readonly cited = new Map<string, Citation>()
  /** The newest members of chunks that list the pages of the whole answer; null for none. */
  private pages: JsonObject | null = null

  /** @param max of an answer; further ones are left out */
  constructor(max: number) {
    this.max = max
  }

  /** Passes on the annotations of a delta or a message. */
  read({ annotations }: JsonObject, sink: MessageSink): void {
    for (const citation of citationsIn(annotations, this.max)) {
      const text = JSON.stringify(citation)
      if (this.cited.has(text) || this.cited.size >= this.max) continue
      this.cited.set(text, citation)
      sink.cites?.(citation)
    }
  }

  /** Keeps the pages of the whole answer, which Perplexity and others list beside the choices of its chunks. */
  notePages({ search_results: results, citations }: JsonObject): void {
    if (results === undefined && citations === undefined) return
    this.pages = {
      search_results: results ?? this.pages?.['search_results'],
      citations: citations ?? this.pages?.['citations'],
    }
  }

  /** The answer has ended: passes on the pages that no annotation has cited. */
  close(sink: MessageSink): void {
    if (this.pages === null) return
    for (const page of pagesIn(this.pages, [...this.cited.values()], this.max)) sink.cites?.(page)
    this.pages = null
  }
}
