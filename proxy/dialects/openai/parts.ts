import { invalidRequest } from '../../../contract/errors/errors.ts'
import { isJsonObject, type JsonObject } from '../../../contract/std/jsonObject.ts'
import type { PromptSize } from '../../admission/holdSize.ts'
import { readImageUrl } from '../shared/imageUrl.ts'
import { leftOut, textOfDataUrl } from '../shared/leftOut.ts'
import { readOrLeaveOut } from '../shared/oldPart.ts'
import { readPdfPart } from '../shared/pdf.ts'
import { readText } from '../shared/text.ts'

/** The detail in which a model reads an image. */
export const IMAGE_DETAILS: ReadonlySet<unknown> = new Set(['auto', 'low', 'high', 'original'])

const TEXTS: ReadonlySet<unknown> = new Set(['text', 'input_text', 'output_text', 'refusal'])

// A longer cache lifetime has its own price at some providers, which the usage they report does not show.
export const MARK: JsonObject = Object.freeze({ type: 'ephemeral' })

/** The treatment of parts that have no price: an error, nothing, or a note in their place. */
export type Unpriced = 'refuse' | 'skip' | 'note'

/**
 * Checks and measures the parts of a message's content.
 * @param unpriced what becomes of parts of other kinds than the priced ones
 * @throws GatewayError 400 with the part at fault
 */
export function readParts(
  parts: readonly unknown[],
  field: string,
  size: PromptSize,
  unpriced: Unpriced,
): JsonObject[] {
  const read: JsonObject[] = []
  for (const [i, given] of parts.entries()) {
    const name = `${field}.content[${i}]`
    // Some packages have texts among the parts.
    const part = typeof given === 'string' ? { type: 'text', text: given } : given
    if (!isJsonObject(part)) throw invalidRequest(`${name} must be an object with a type.`, name)
    const isNewest = unpriced === 'refuse' || TEXTS.has(part['type'])
    const known = readOrLeaveOut(isNewest, size, () => readPart(part, name, size, unpriced === 'refuse'))
    const clean = known ?? readUnpriced(part, name, size, unpriced)
    if (clean === null) continue
    if (isJsonObject(part['cache_control'])) clean['cache_control'] = MARK
    read.push(clean)
  }
  return read
}

/**
 * Checked content that is to be kept in the cache up to its end. Packages whose messages have a text for content, such as those
 * for providers that are compatible with OpenAI, state that in the message; providers read it in a part.
 */
export function markedContent(content: unknown, mark: unknown): unknown {
  if (!isJsonObject(mark)) return content
  if (typeof content === 'string') {
    return content === '' ? content : [{ type: 'text', text: content, cache_control: MARK }]
  }
  if (!Array.isArray(content) || content.length === 0) return content
  return [...content.slice(0, -1), { ...(content.at(-1) as JsonObject), cache_control: MARK }]
}

/** @returns null for a part that has no price */
function readPart(part: JsonObject, name: string, size: PromptSize, isNew: boolean): JsonObject | null {
  switch (part['type']) {
    case 'text':
    // The names of Responses, which some clients use for both.
    case 'input_text':
    case 'output_text':
      // Some clients leave out the text of an empty part.
      return { type: 'text', text: readText(isNew ? part['text'] : (part['text'] ?? ''), `${name}.text`, size) }
    case 'refusal':
      return { type: 'refusal', refusal: readText(part['refusal'], `${name}.refusal`, size) }
    case 'image_url':
      size.images++
      return { type: 'image_url', image_url: readImage(part['image_url'], `${name}.image_url`, size) }
    case 'file':
      return readFile(part['file'], name, size, isNew)
    case 'image':
      return readBlockImage(part['source'], `${name}.source`, size)
    default:
      return null
  }
}

function readUnpriced(part: JsonObject, name: string, size: PromptSize, unpriced: Unpriced): JsonObject | null {
  if (unpriced === 'refuse') {
    throw invalidRequest(`${name}.type must be text, image_url or file; other parts are not priced.`, `${name}.type`)
  }
  return unpriced === 'skip' ? null : { type: 'text', text: readText(leftOut(part['type']), name, size) }
}

/** A file that is a PDF, or one that is a text, which becomes a part of text. */
function readFile(file: unknown, name: string, size: PromptSize, isNew: boolean): JsonObject {
  const members = isJsonObject(file) ? file : {}
  const pdf = readPdfPart(members, `${name}.file`, size)
  if (pdf !== null) {
    if (isNew) size.newPdf ??= `${name}.type`
    return pdf
  }
  const text = textOfDataUrl(members['file_data'])
  if (text === null) {
    const message = `${name}.file.file_data must be the data URL of a PDF or a text, in base64; other files are not priced.`
    throw invalidRequest(message, `${name}.file.file_data`)
  }
  size.rewritten = true
  return { type: 'text', text: readText(text, `${name}.file.file_data`, size) }
}

/** An image as Messages have it, which some clients send for both. @returns null for one that is stored elsewhere */
function readBlockImage(source: unknown, field: string, size: PromptSize): JsonObject | null {
  const { type, media_type: mediaType, data, url } = isJsonObject(source) ? source : {}
  const isInline = type === 'base64' && typeof mediaType === 'string' && typeof data === 'string'
  if (!isInline && type !== 'url') return null
  size.images++
  // The data goes on in another string than it came in.
  size.rewritten = true
  return { type: 'image_url', image_url: readImage(isInline ? `data:${mediaType};base64,${data}` : url, field, size) }
}

function readImage(image: unknown, field: string, size: PromptSize): JsonObject {
  if (typeof image === 'string') return { url: readImageUrl(image, field, size) }
  if (!isJsonObject(image) || typeof image['url'] !== 'string')
    throw invalidRequest(`${field}.url must be a string.`, field)
  const { detail } = image
  const url = readImageUrl(image['url'], `${field}.url`, size)
  return IMAGE_DETAILS.has(detail) ? { url, detail } : { url }
}
