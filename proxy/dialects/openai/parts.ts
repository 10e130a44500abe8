import { invalidRequest } from '../../../contract/errors/errors.ts'
import { isJsonObject, type JsonObject } from '../../../contract/std/jsonObject.ts'
import type { PromptSize } from '../../admission/holdSize.ts'
import { readImageUrl } from '../shared/imageUrl.ts'
import { textOfDataUrl } from '../shared/leftOut.ts'
import { readPdfPart } from '../shared/pdf.ts'
import { readText } from '../shared/text.ts'

/** The detail in which a model reads an image. */
export const IMAGE_DETAILS: ReadonlySet<unknown> = new Set(['auto', 'low', 'high', 'original'])

/**
 * Checks and measures the parts of a message's content. Other kinds of parts are rejected, because they have no price.
 * @throws GatewayError 400 with the part at fault
 */
export function readParts(parts: readonly unknown[], field: string, size: PromptSize): JsonObject[] {
  return parts.map((part, i) => {
    const name = `${field}.content[${i}]`
    if (!isJsonObject(part)) throw invalidRequest(`${name} must be an object with a type.`, name)
    const clean = readPart(part, name, size)
    // A longer cache lifetime has its own price at some providers, which the usage they report does not show.
    if (isJsonObject(part['cache_control'])) clean['cache_control'] = { type: 'ephemeral' }
    return clean
  })
}

function readPart(part: JsonObject, name: string, size: PromptSize): JsonObject {
  switch (part['type']) {
    case 'text':
      return { type: 'text', text: readText(part['text'], `${name}.text`, size) }
    case 'refusal':
      return { type: 'refusal', refusal: readText(part['refusal'], `${name}.refusal`, size) }
    case 'image_url':
      size.images++
      return { type: 'image_url', image_url: readImage(part['image_url'], `${name}.image_url`, size) }
    case 'file':
      return readFile(part['file'], name, size)
    default:
      throw invalidRequest(`${name}.type must be text, image_url or file; other parts are not priced.`, `${name}.type`)
  }
}

/** A file that is a PDF, or one that is a text, which becomes a part of text. */
function readFile(file: unknown, name: string, size: PromptSize): JsonObject {
  const members = isJsonObject(file) ? file : {}
  const pdf = readPdfPart(members, `${name}.file`, size)
  if (pdf !== null) {
    size.newPdf ??= `${name}.type`
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

function readImage(image: unknown, field: string, size: PromptSize): JsonObject {
  if (typeof image === 'string') return { url: readImageUrl(image, field, size) }
  if (!isJsonObject(image) || typeof image['url'] !== 'string')
    throw invalidRequest(`${field}.url must be a string.`, field)
  const { detail } = image
  const url = readImageUrl(image['url'], `${field}.url`, size)
  return IMAGE_DETAILS.has(detail) ? { url, detail } : { url }
}
