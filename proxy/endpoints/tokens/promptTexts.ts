import { isJsonObject, type JsonObject } from '../../../contract/std/jsonObject.ts'

/** The tokens that chat formats add around each message, and around all messages together. */
const TOKENS_PER_MESSAGE = 4
const TOKENS_PER_REQUEST = 3

/** The texts of a chat request that the model reads. */
export interface PromptTexts {
  readonly text: string
  /** Tokens that are not in the text: the frame of the messages, and their images. */
  readonly extraTokens: number
}

/**
 * Extracts the texts of a checked chat request.
 * @param forward the body in the format of chat completions
 * @param imageTokens tokens that an image counts as, and a PDF, of which a page at least is one
 */
export function promptTexts(forward: JsonObject, imageTokens: number): PromptTexts {
  const messages = (forward['messages'] ?? []) as readonly JsonObject[]
  const texts: string[] = []
  let images = 0
  for (const message of messages) {
    images += addContent(message['content'], texts)
    for (const name of ['name', 'refusal', 'reasoning_content']) addText(message[name], texts)
    if (message['tool_calls'] !== undefined) addCalls(message['tool_calls'], texts)
  }
  for (const name of ['prompt', 'suffix']) addText(forward[name], texts)
  for (const name of ['tools', 'response_format']) {
    if (forward[name] !== undefined) texts.push(JSON.stringify(forward[name]))
  }
  const extraTokens = messages.length * TOKENS_PER_MESSAGE + TOKENS_PER_REQUEST + images * imageTokens
  return { text: texts.join('\n'), extraTokens }
}

function addContent(content: unknown, texts: string[]): number {
  addText(content, texts)
  if (!Array.isArray(content)) return 0
  let images = 0
  for (const part of content) {
    if (!isJsonObject(part)) continue
    if (part['type'] === 'image_url' || part['type'] === 'file') images++
    addText(part['text'] ?? part['refusal'], texts)
  }
  return images
}

function addCalls(calls: unknown, texts: string[]): void {
  if (!Array.isArray(calls)) return
  for (const call of calls) {
    if (!isJsonObject(call) || !isJsonObject(call['function'])) continue
    addText(call['function']['name'], texts)
    addText(call['function']['arguments'], texts)
  }
}

function addText(value: unknown, texts: string[]): void {
  if (typeof value === 'string' && value !== '') texts.push(value)
}
