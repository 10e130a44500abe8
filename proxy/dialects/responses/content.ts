import { invalidRequest } from '../../../contract/errors/errors.ts'
import { isJsonObject, type JsonObject } from '../../../contract/std/jsonObject.ts'
import type { PromptSize } from '../../admission/holdSize.ts'
import { isGiven } from '../../json/fields.ts'
import { IMAGE_DETAILS } from '../openai/parts.ts'
import { readImageUrl } from '../shared/imageUrl.ts'
import { leftOut, textOfDataUrl } from '../shared/leftOut.ts'
import { readOrLeaveOut } from '../shared/oldPart.ts'
import { readPdfPart } from '../shared/pdf.ts'
import { readText } from '../shared/text.ts'

/** The content of an input item. */
export interface Content {
  /** Texts, images and PDFs as a chat has them; a single text is a string. */
  readonly chat: string | readonly JsonObject[]
  /** The texts in one. */
  readonly text: string
  readonly refusal: string
  readonly images: number
}

/**
 * Checks and measures a content: a string, or parts. Parts of other kinds have no price: where the user sends them anew they
 * are rejected, and elsewhere a text takes their place, because a client cannot take back its history.
 * @param newest whether the user has just sent it
 * @throws GatewayError 400 with the part at fault
 */
export function readContent(value: unknown, field: string, size: PromptSize, newest: boolean): Content {
  if (typeof value === 'string') {
    const text = readText(value, field, size)
    return { chat: text, text, refusal: '', images: 0 }
  }
  if (!Array.isArray(value)) throw invalidRequest(`${field} must be a string or an array of parts.`, field)
  const chat: JsonObject[] = []
  const imagesBefore = size.images
  let text = ''
  let refusal = ''
  value.forEach((part: unknown, i) => {
    const name = `${field}[${i}]`
    if (!isJsonObject(part)) throw invalidRequest(`${name} must be an object with a type.`, name)
    const say = (piece: string): void => {
      text += piece
      chat.push({ type: 'text', text: piece })
    }
    switch (part['type']) {
      case 'input_text':
      case 'output_text':
      case 'text':
      case 'summary_text':
      case 'reasoning_text':
        say(readText(newest ? part['text'] : (part['text'] ?? ''), `${name}.text`, size))
        break
      // Agents whose provider does not encrypt what they write to each other have the text itself here.
      case 'encrypted_content': {
        const { encrypted_content: written } = part
        const isPlain = typeof written === 'string' && !written.startsWith(ENCRYPTED_START)
        say(readText(isPlain ? written : leftOut('encrypted_content'), `${name}.encrypted_content`, size))
        break
      }
      case 'refusal':
        refusal += readText(part['refusal'], `${name}.refusal`, size)
        break
      case 'input_image':
      // The form of a chat, which some clients use for both.
      case 'image_url': {
        const image = readOrLeaveOut(newest, size, () => readImage(flatImage(part), name, size))
        if (image === null) say(readText(leftOut('image'), name, size))
        else chat.push({ type: 'image_url', image_url: image })
        break
      }
      default: {
        const pdf = part['type'] === 'input_file' ? readPdfPart(part, name, size) : null
        if (pdf !== null) {
          if (newest) size.newPdf ??= `${name}.type`
          chat.push(pdf)
          break
        }
        const file = textOfDataUrl(part['file_data'])
        if (file === null && newest) {
          throw invalidRequest(`${name}.type must be ${KINDS}; other parts are not priced.`, `${name}.type`)
        }
        say(readText(file ?? leftOut(part['type']), name, size))
      }
    }
  })
  const images = size.images - imagesBefore
  const isText = chat.every(({ type }) => type === 'text')
  return { chat: chat.length > 1 || !isText ? chat : text, text, refusal, images }
}

/** Of the tokens of Fernet, in which OpenAI encrypts: a version and the beginning of a time. */
const ENCRYPTED_START = 'gAAAA'
const KINDS = 'input_text, input_image, output_text, refusal, or input_file with the data URL of a PDF or a text'

function flatImage(part: JsonObject): JsonObject {
  const { image_url: image } = part
  return isJsonObject(image) ? { ...part, image_url: image['url'], detail: image['detail'] } : part
}

function readImage(part: JsonObject, field: string, size: PromptSize): JsonObject {
  size.images++
  const { image_url: sent, detail } = part
  if (!isGiven(sent) && isGiven(part['file_id'])) {
    throw invalidRequest(
      `${field}.file_id is not taken, because no files are stored; send image_url.`,
      `${field}.file_id`,
    )
  }
  if (typeof sent !== 'string') throw invalidRequest(`${field}.image_url must be a string.`, `${field}.image_url`)
  const url = readImageUrl(sent, `${field}.image_url`, size)
  return IMAGE_DETAILS.has(detail) ? { url, detail } : { url }
}
