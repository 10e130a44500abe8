import { invalidRequest } from '../../../contract/errors/errors.ts'
import { isJsonObject, type JsonObject } from '../../../contract/std/jsonObject.ts'
import type { PromptSize } from '../../admission/holdSize.ts'
import { isMark } from '../../json/cutJson.ts'
import { exactJson, isRounded } from '../../json/exactJson.ts'
import { isGiven } from '../../json/fields.ts'
import { calledName } from '../shared/clientTools.ts'
import { IMAGE_TYPES, imageType, noteData } from '../shared/dataUrl.ts'
import { readImageUrl } from '../shared/imageUrl.ts'
import { FAILED, leftOut, textOfBase64 } from '../shared/leftOut.ts'
import { readOrLeaveOut } from '../shared/oldPart.ts'
import { OWN_SIGNATURE } from '../shared/ownReasoning.ts'
import { isPacked } from '../shared/packed.ts'
import { countPdf, PDF_TYPE } from '../shared/pdf.ts'
import { areParts, jsonAsText, readCallId, readText, textOf } from '../shared/text.ts'
import { redactedThinking } from '../shared/thought.ts'
import { callId, inputOf, isBlank } from './anthropicMessages.ts'
import { blockKind } from './blockKinds.ts'
import { withCache } from './cacheControl.ts'
import type { CallMembers } from './callMembers.ts'
import { THOUGHTS } from './foreignThoughts.ts'

const TEXT_TYPE = /^text\/|^application\/json$/

/** The message that is being read. */
export interface Reading {
  readonly size: PromptSize
  /** Tools that blocks bring along, from the oldest to the newest; they join those of the request. */
  readonly tools: unknown[]
  /** The user has just sent it: what cannot be served is refused, while elsewhere a note takes its place. */
  readonly newest: boolean
  /** The members of calls that the client sends back for their provider. */
  readonly members: CallMembers
}

type BlockReader = (block: JsonObject, field: string, reading: Reading) => JsonObject | null

// Some models write texts of nothing but white space, which providers of this format refuse, and some clients leave empty ones out.
const textBlock: BlockReader = (block, field, { size }) => {
  const { text } = block
  if (isGiven(text) && !isBlank(text)) return { type: 'text', text: readText(text, `${field}.text`, size) }
  size.rewritten = true
  return null
}

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
    redacted_thinking: ({ data }, field, { size, members }) =>
      typeof data !== 'string' || members.take(data, size)
        ? null
        : redactedThinking(readText(data, `${field}.data`, size)),
  },
}

export const ROLES: ReadonlySet<unknown> = new Set(Object.keys(BLOCKS))

/**
 * Checks and measures the content of a message, or the system prompt, and returns the part that may be forwarded. Blocks
 * that are not served to this role become what `blockKinds.ts` says.
 * @param role system, user or assistant
 * @throws GatewayError 400 with the block at fault
 */
export function readContent(content: unknown, role: string, field: string, reading: Reading): string | JsonObject[] {
  return readBlocks(content, BLOCKS[role] ?? {}, field, reading)
}

function readBlocks(
  content: unknown,
  readers: Readonly<Record<string, BlockReader>>,
  field: string,
  reading: Reading,
): string | JsonObject[] {
  if (typeof content === 'string') return readText(content, field, reading.size)
  if (!Array.isArray(content)) throw invalidRequest(`${field} must be a string or an array of blocks.`, field)
  const clean: JsonObject[] = []
  for (const [i, block] of content.entries()) {
    const name = `${field}[${i}]`
    if (!isJsonObject(block)) throw invalidRequest(`${name} must be an object with a type.`, name)
    const { type } = block
    const reader = typeof type === 'string' && Object.hasOwn(readers, type) ? readers[type] : undefined
    const read = reader === undefined ? readOther(block, readers, name, reading) : reader(block, name, reading)
    // The format has no marks on thinking.
    if (read !== null) clean.push(THOUGHTS.has(type) ? read : withCache(read, block['cache_control'], name))
  }
  return clean
}

/** A block of a kind that is not served to the message's role. */
function readOther(
  block: JsonObject,
  readers: Readonly<Record<string, BlockReader>>,
  field: string,
  { size, tools, newest }: Reading,
): JsonObject | null {
  const { action, text } = blockKind(block['type'])
  if (text !== undefined) return said(text(block), field, size)
  if (action === 'join') tools.push(...definitionsIn(block['tool']))
  if (action === 'join' || action === 'skip') return null
  if (newest) {
    const kinds = Object.keys(readers).join(', ')
    throw invalidRequest(`${field}.type must be one of ${kinds}; other blocks are not priced.`, `${field}.type`)
  }
  // The model does not have to see unknown blocks that the model itself or the system has written.
  return readers === BLOCKS['assistant'] || readers === BLOCKS['system']
    ? null
    : said(leftOut(block['type']), field, size)
}

function said(text: string, field: string, size: PromptSize): JsonObject | null {
  return text === '' ? null : { type: 'text', text: readText(text, field, size) }
}

function definitionsIn(tool: unknown): unknown[] {
  return isJsonObject(tool) && isJsonObject(tool['definition']) ? [tool['definition']] : []
}

function readImage(block: JsonObject, field: string, reading: Reading): JsonObject | null {
  const { size, newest } = reading
  return (
    readOrLeaveOut(newest, size, () => readServedImage(block, field, reading)) ?? said(leftOut('image'), field, size)
  )
}

function readServedImage(block: JsonObject, field: string, { size }: Reading): JsonObject {
  const name = `${field}.source`
  const source = objectOf(block['source'], name)
  size.images++
  if (source['type'] === 'url') {
    const url = readImageUrl(stringOf(source['url'], `${name}.url`), `${name}.url`, size)
    return { type: 'image', source: { type: 'url', url } }
  }
  if (source['type'] !== 'base64') throw invalidRequest(`${name}.type must be base64 or url.`, `${name}.type`)
  const { media_type: stated } = source
  const data = stringOf(source['data'], `${name}.data`)
  const mediaType = typeof stated === 'string' ? imageType(stated, data) : null
  if (mediaType === null) {
    throw invalidRequest(`${name}.media_type must be one of ${IMAGE_TYPES.join(', ')}.`, `${name}.media_type`)
  }
  if (mediaType !== stated) size.rewritten = true
  noteData(data, size)
  return { type: 'image', source: { type: 'base64', media_type: mediaType, data } }
}

function readDocument(block: JsonObject, field: string, { size, newest }: Reading): JsonObject | null {
  const name = `${field}.source`
  if (!newest && !isJsonObject(block['source'])) return said(leftOut('document'), field, size)
  const source = objectOf(block['source'], name)
  if (isPdf(source)) {
    countPdf(size)
    noteData(String(source['data']), size)
    if (newest) size.newPdf ??= `${name}.type`
    return withTitle({ type: 'base64', media_type: PDF_TYPE, data: source['data'] }, block, field, size)
  }
  const text = documentText(source, size)
  if (text === null) {
    if (!newest) return said(leftOut('document'), field, size)
    throw invalidRequest(
      `${name} must be a text or a PDF, as type text or as base64; documents of other kinds are not priced.`,
      `${name}.type`,
    )
  }
  const data = readText(text, `${name}.data`, size)
  return withTitle({ type: 'text', media_type: 'text/plain', data }, block, field, size)
}

function withTitle(source: JsonObject, block: JsonObject, field: string, size: PromptSize): JsonObject {
  const clean: JsonObject = { type: 'document', source }
  for (const member of ['title', 'context']) {
    if (isGiven(block[member])) clean[member] = readText(block[member], `${field}.${member}`, size)
  }
  const { citations } = block
  if (isJsonObject(citations) && typeof citations['enabled'] === 'boolean') {
    clean['citations'] = { enabled: citations['enabled'] }
  }
  return clean
}

function isPdf({ type, media_type: mediaType, data }: JsonObject): boolean {
  return type === 'base64' && mediaType === PDF_TYPE && typeof data === 'string'
}

/** The text of a document, to be measured; null for one that is no text. */
function documentText(source: JsonObject, size: PromptSize): unknown {
  const { type, media_type: mediaType, data } = source
  if (type === 'text') return data
  size.rewritten = true
  if (type === 'content') return textOf(source['content'])
  if (type !== 'base64' || typeof data !== 'string' || typeof mediaType !== 'string' || !TEXT_TYPE.test(mediaType))
    return null
  return isMark(data) ? data : textOfBase64(data)
}

function readToolUse(block: JsonObject, field: string, { size, members }: Reading): JsonObject {
  const input = readInput(block['input'] ?? {}, `${field}.input`)
  size.textBytes += Buffer.byteLength(exactJson(input))
  if (isRounded(input)) size.rounded = true
  const id = callId(readCallId(block['id'], `${field}.id`, size))
  members.give(id, size)
  return { type: 'tool_use', id, name: calledName(readText(block['name'], `${field}.name`, size)), input }
}

/** The input of a call. Packages for PHP write `[]` for an object without members. */
function readInput(given: unknown, field: string): JsonObject {
  if (typeof given === 'string') return inputOf(given)
  if (!Array.isArray(given)) return objectOf(given, field)
  return given.length === 0 ? {} : { arguments: JSON.stringify(given) }
}

function readToolResult(block: JsonObject, field: string, reading: Reading): JsonObject {
  const clean: JsonObject = {
    type: 'tool_result',
    tool_use_id: callId(readCallId(block['tool_use_id'], `${field}.tool_use_id`, reading.size)),
  }
  const { content } = block
  const isContent = typeof content === 'string' || (Array.isArray(content) && areParts(content))
  if (isGiven(content) && !isContent) {
    clean['content'] = jsonAsText(content, reading.size)
  } else if (isGiven(content)) {
    const read = readBlocks(content, RESULT_BLOCKS, `${field}.content`, { ...reading, newest: false })
    if (isBlank(read)) reading.size.rewritten = true
    else if (read.length > 0) clean['content'] = read
  }
  return block['is_error'] === true ? asFailure(clean, reading.size) : clean
}

/** A result of a call that has failed, of which the format takes texts alone, and at least one: others say so in a text. */
function asFailure(result: JsonObject, size: PromptSize): JsonObject {
  const content = (result['content'] ?? []) as string | JsonObject[]
  const blocks = typeof content === 'string' ? [] : content
  const isText = blocks.every(({ type }) => type === 'text')
  if (isText && content.length > 0) return { ...result, is_error: true }
  size.rewritten = true
  if (blocks.some(({ type }) => type === 'text')) return result
  size.textBytes += FAILED.length
  return isText
    ? { ...result, content: FAILED, is_error: true }
    : { ...result, content: [{ type: 'text', text: FAILED }, ...blocks] }
}

// Thinking that another provider than Anthropic's has done carries no signature but the gateway's, and no provider of this format
// takes it. Clients leave out the text of thinking that was not shown, which the format demands.
function readThinking(block: JsonObject, field: string, { size, members }: Reading): JsonObject | null {
  const { signature, thinking = '' } = block
  const isOwn = isPacked(signature)
  // A longer one could be cut out, and a mark in its place would not be known.
  if (isOwn && signature !== OWN_SIGNATURE) size.rewritten = true
  const isSigned = isGiven(signature) && signature !== '' && !isOwn
  if (typeof thinking === 'string') members.think(thinking, isSigned, size)
  if (!isSigned) return null
  return {
    type: 'thinking',
    thinking: readText(thinking, `${field}.thinking`, size),
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
