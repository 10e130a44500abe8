import { jsonBytes } from '../../../contract/api/completion.ts'
import { invalidRequest } from '../../../contract/errors/errors.ts'
import { isJsonObject, type JsonObject } from '../../../contract/std/jsonObject.ts'
import type { PromptSize } from '../../admission/holdSize.ts'
import { isGiven } from '../../json/fields.ts'
import { IMAGE_TYPES, imageType } from '../shared/dataUrl.ts'
import { readImageUrl } from '../shared/imageUrl.ts'
import { readText } from '../shared/text.ts'
import { withCache } from './cacheControl.ts'

type BlockReader = (block: JsonObject, field: string, size: PromptSize) => JsonObject | null

const textBlock: BlockReader = (block, field, size) => ({
  type: 'text',
  text: readText(block['text'], `${field}.text`, size),
})

const RESULT_BLOCKS: Readonly<Record<string, BlockReader>> = {
  text: textBlock,
  image: readImage,
  document: readDocument,
}

/** The kinds of blocks that a message of each role may hold. */
const BLOCKS: Readonly<Record<string, Readonly<Record<string, BlockReader>>>> = {
  system: { text: textBlock },
  user: { ...RESULT_BLOCKS, tool_result: readToolResult },
  assistant: {
    text: textBlock,
    tool_use: readToolUse,
    thinking: readThinking,
    redacted_thinking: (block, field, size) => ({
      type: 'redacted_thinking',
      data: readText(block['data'], `${field}.data`, size),
    }),
  },
}

export const ROLES: ReadonlySet<unknown> = new Set(Object.keys(BLOCKS))

/**
 * Checks and measures the content of a message, or the system prompt, and returns the part that may be forwarded. Blocks of
 * other kinds are rejected, because they have no price.
 * @param role system, user or assistant
 * @throws GatewayError 400 with the block at fault
 */
export function readContent(content: unknown, role: string, field: string, size: PromptSize): string | JsonObject[] {
  return readBlocks(content, BLOCKS[role] ?? {}, field, size)
}

function readBlocks(
  content: unknown,
  readers: Readonly<Record<string, BlockReader>>,
  field: string,
  size: PromptSize,
): string | JsonObject[] {
  if (typeof content === 'string') return readText(content, field, size)
  if (!Array.isArray(content)) throw invalidRequest(`${field} must be a string or an array of blocks.`, field)
  const clean: JsonObject[] = []
  for (const [i, block] of content.entries()) {
    const name = `${field}[${i}]`
    if (!isJsonObject(block)) throw invalidRequest(`${name} must be an object with a type.`, name)
    const { type } = block
    const reader = typeof type === 'string' && Object.hasOwn(readers, type) ? readers[type] : undefined
    if (reader === undefined) {
      throw invalidRequest(
        `${name}.type must be one of ${Object.keys(readers).join(', ')}; other blocks are not priced.`,
        `${name}.type`,
      )
    }
    const read = reader(block, name, size)
    if (read !== null) clean.push(withCache(read, block['cache_control'], name))
  }
  return clean
}

function readImage(block: JsonObject, field: string, size: PromptSize): JsonObject {
  size.images++
  const name = `${field}.source`
  const source = objectOf(block['source'], name)
  if (source['type'] === 'url') {
    const url = readImageUrl(stringOf(source['url'], `${name}.url`), `${name}.url`, size)
    return { type: 'image', source: { type: 'url', url } }
  }
  if (source['type'] !== 'base64') throw invalidRequest(`${name}.type must be base64 or url.`, `${name}.type`)
  const mediaType = imageType(stringOf(source['media_type'], `${name}.media_type`))
  if (mediaType === null) {
    throw invalidRequest(`${name}.media_type must be one of ${IMAGE_TYPES.join(', ')}.`, `${name}.media_type`)
  }
  return {
    type: 'image',
    source: { type: 'base64', media_type: mediaType, data: stringOf(source['data'], `${name}.data`) },
  }
}

function readDocument(block: JsonObject, field: string, size: PromptSize): JsonObject {
  const name = `${field}.source`
  const source = objectOf(block['source'], name)
  if (source['type'] !== 'text') {
    throw invalidRequest(`${name}.type must be text; documents of other kinds are not priced.`, `${name}.type`)
  }
  const data = readText(source['data'], `${name}.data`, size)
  const clean: JsonObject = { type: 'document', source: { type: 'text', media_type: 'text/plain', data } }
  for (const member of ['title', 'context']) {
    if (isGiven(block[member])) clean[member] = readText(block[member], `${field}.${member}`, size)
  }
  return clean
}

function readToolUse(block: JsonObject, field: string, size: PromptSize): JsonObject {
  const input = objectOf(block['input'], `${field}.input`)
  size.textBytes += jsonBytes(input)
  const id = readText(block['id'], `${field}.id`, size)
  return { type: 'tool_use', id, name: readText(block['name'], `${field}.name`, size), input }
}

function readToolResult(block: JsonObject, field: string, size: PromptSize): JsonObject {
  const clean: JsonObject = {
    type: 'tool_result',
    tool_use_id: readText(block['tool_use_id'], `${field}.tool_use_id`, size),
  }
  const { content } = block
  if (isGiven(content)) clean['content'] = readBlocks(content, RESULT_BLOCKS, `${field}.content`, size)
  if (block['is_error'] === true) clean['is_error'] = true
  return clean
}

// Thinking that another provider than Anthropic's has done carries no signature and is taken by none again.
function readThinking(block: JsonObject, field: string, size: PromptSize): JsonObject | null {
  const { signature } = block
  if (signature === '' || !isGiven(signature)) return null
  return {
    type: 'thinking',
    thinking: readText(block['thinking'], `${field}.thinking`, size),
    signature: readText(signature, `${field}.signature`, size),
  }
}

function objectOf(value: unknown, field: string): JsonObject {
  if (!isJsonObject(value)) throw invalidRequest(`${field} must be an object.`, field)
  return value
}

function stringOf(value: unknown, field: string): string {
  if (typeof value !== 'string') throw invalidRequest(`${field} must be a string.`, field)
  return value
}
