import type { JsonObject } from '../../../contract/std/jsonObject.ts'
import type { PromptSize } from '../../admission/holdSize.ts'
import { isMark } from '../../json/cutJson.ts'
import { noteData } from './dataUrl.ts'
import { leftOut } from './leftOut.ts'
import { readText } from './text.ts'

export const PDF_TYPE = 'application/pdf'
const HEAD = 'data:application/pdf;base64,'
const PDF_DATA_URL = /^data:application\/pdf(?:;[\w-]+=[^;,]*)*;base64,/i
const HEAD_CHARACTERS_MAX = 256
/** Providers want a name. */
const UNNAMED = 'document.pdf'

/** The base64 of a PDF in a data URL; null for another URL. */
export function pdfOfDataUrl(url: unknown): string | null {
  const head = typeof url === 'string' ? PDF_DATA_URL.exec(url.slice(0, HEAD_CHARACTERS_MAX)) : null
  return head === null ? null : String(url).slice(head[0].length)
}

/** The data URL of a PDF. */
export function pdfDataUrl(base64: unknown): string {
  return HEAD + String(base64)
}

/**
 * Reads a PDF among the parts of a message as a part of a chat, and measures what takes its place where a model takes none.
 * @param file its members `filename` and `file_data`
 * @returns null for a file that is none
 */
export function readPdfPart(file: JsonObject, field: string, size: PromptSize): JsonObject | null {
  const { file_data: data, filename } = file
  // A file of another kind is forwarded in another form than it was sent in, and is no mark therefore.
  if (typeof data !== 'string' || (pdfOfDataUrl(data) === null && !isMark(data))) return null
  countPdf(size)
  noteData(data, size)
  const name = typeof filename === 'string' && filename !== '' ? filename : UNNAMED
  return pdfPart(data, readText(name, `${field}.filename`, size))
}

/** A PDF as a part of a chat. */
export function pdfPart(dataUrl: string, filename: unknown): JsonObject {
  const name = typeof filename === 'string' && filename !== '' ? filename : UNNAMED
  return { type: 'file', file: { filename: name, file_data: dataUrl } }
}

/** Counts a PDF, and the note that takes its place where a model takes none. */
export function countPdf(size: PromptSize): void {
  size.pdfs = (size.pdfs ?? 0) + 1
  size.textBytes += leftOut('input_file').length
}

/**
 * The messages of a chat with notes in place of PDFs.
 * @param keeps whether messages of a role keep theirs
 */
export function withoutPdfs(messages: readonly JsonObject[], keeps: (role: unknown) => boolean): readonly JsonObject[] {
  return messages.map((message) => {
    const { role, content } = message
    if (!Array.isArray(content) || keeps(role)) return message
    const parts = (content as JsonObject[]).map(noteOf)
    const [only] = parts
    return { ...message, content: parts.length === 1 && only?.['type'] === 'text' ? only['text'] : parts }
  })
}

function noteOf(part: JsonObject): JsonObject {
  return part['type'] === 'file' ? { type: 'text', text: leftOut('input_file') } : part
}
