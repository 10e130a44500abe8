import { CALL_MEMBER } from '../../../contract/catalog/requestForm.ts'
import { isJsonObject, type JsonObject } from '../../../contract/std/jsonObject.ts'
import { exactJson } from '../../json/exactJson.ts'
import { sentName } from '../shared/clientTools.ts'
import { userForOpenai } from '../shared/endUser.ts'
import { fittingCallId } from '../shared/historyCallIds.ts'
import { keepReasoning } from '../shared/keptReasoning.ts'
import { FAILED } from '../shared/leftOut.ts'
import { pdfDataUrl, pdfPart } from '../shared/pdf.ts'
import { partsOf, requiredIn } from '../shared/soundSchema.ts'
import { isPdfDocument } from './anthropicMessages.ts'
import { effortOfBudget } from './anthropicThinking.ts'
import type { BeforeCall } from './callMembers.ts'
import { isComposed } from './inputSchema.ts'

/** By the id of a call. */
type CallsBefore = ReadonlyMap<unknown, BeforeCall>

const SYSTEM_JOINT = '\n\n'
const MARKED: JsonObject = { cache_control: { type: 'ephemeral' } }
const CHOICES: Readonly<Record<string, string>> = { auto: 'auto', any: 'required', none: 'none' }
const EFFORTS: ReadonlySet<unknown> = new Set(['low', 'medium', 'high', 'xhigh', 'max'])

/**
 * A checked Messages body in the format of chat completions, except for the parts that depend on the model.
 * @param members what goes back to the provider with a call, by the id of the call
 * @param marks whether the provider takes marks for the cache wherever they are; else it gets those of the user's texts and media
 */
export function chatBody(native: JsonObject, members: CallsBefore, marks: boolean): JsonObject {
  const messages = (native['messages'] as JsonObject[]).flatMap((message) => chatMessages(message, members, marks))
  const { system, metadata, stop_sequences: stops } = native
  const instructions = system === undefined ? '' : systemContent(system, marks)
  if (instructions !== '') messages.unshift({ role: 'system', content: instructions })
  const body: JsonObject = { messages, ...chatTools(native, marks), ...(marks && markOf(native)) }
  for (const name of ['temperature', 'top_p', 'top_k']) if (native[name] !== undefined) body[name] = native[name]
  if (Array.isArray(stops) && stops.length > 0) body['stop'] = stops
  if (isJsonObject(metadata)) body['user'] = userForOpenai(String(metadata['user_id']))
  const { format } = isJsonObject(native['output_config']) ? native['output_config'] : {}
  if (isJsonObject(format)) {
    body['response_format'] = { type: 'json_schema', json_schema: { name: 'answer', schema: format['schema'] } }
  }
  return body
}

/** The reasoning_effort that a checked Messages body asks for; null when it does not specify one. */
export function effortFor(native: JsonObject, maxTokens: number): string | null {
  const thinking = isJsonObject(native['thinking']) ? native['thinking'] : {}
  if (thinking['type'] === 'disabled') return null
  if (thinking['type'] === 'enabled') return effortOfBudget(Number(thinking['budget_tokens']), maxTokens)
  const { effort } = isJsonObject(native['output_config']) ? native['output_config'] : {}
  return EFFORTS.has(effort) ? String(effort) : null
}

/** The mark of a block, a tool or a request. A longer time in the cache has its own price at some providers. */
function markOf(holder: JsonObject): JsonObject {
  return holder['cache_control'] === undefined ? {} : MARKED
}

function isMarked(content: unknown): boolean {
  return Array.isArray(content) && content.some((block: JsonObject) => block['cache_control'] !== undefined)
}

function chatMessages(message: JsonObject, members: CallsBefore, marks: boolean): JsonObject[] {
  const { role, content } = message
  if (typeof content === 'string') return [{ role, content }]
  const blocks = content as JsonObject[]
  if (role === 'assistant') return assistantMessage(blocks, members, marks)
  if (role === 'system') return [{ role, content: systemContent(blocks, marks) }]
  // Results answer the previous turn, so they precede the rest of the user's content. Only users can show images.
  const results = blocks.filter((block) => block['type'] === 'tool_result')
  const shown = results.flatMap(blocksOfResult).filter((block) => block['type'] === 'image' || isPdfDocument(block))
  const said = [...shown, ...blocks.filter((block) => block['type'] !== 'tool_result')]
  const messages: JsonObject[] = results.map((result) => ({
    role: 'tool',
    tool_call_id: fittingCallId(String(result['tool_use_id'])),
    content: withMark(resultText(result), marks && (isMarked([result]) || isMarked(result['content']))),
  }))
  if (said.length > 0) messages.push({ role: 'user', content: userContent(said) })
  return messages
}

function systemContent(content: unknown, marks: boolean): unknown {
  if (!marks || !isMarked(content)) return plainText(content, SYSTEM_JOINT)
  return (content as JsonObject[]).map((block) => ({ type: 'text', text: textOf(block), ...markOf(block) }))
}

/** A text up to which a prompt may be kept in the cache. */
function withMark(text: string, isKept: boolean): unknown {
  return isKept && text !== '' ? [{ type: 'text', text, ...MARKED }] : text
}

function assistantMessage(blocks: readonly JsonObject[], members: CallsBefore, marks: boolean): JsonObject[] {
  const text = plainText(blocks, '')
  const uses = blocks.filter((block) => block['type'] === 'tool_use')
  const said = withMark(text, marks && isMarked(blocks))
  if (uses.length === 0) return text === '' ? [] : [{ role: 'assistant', content: said }]
  const calls = uses.map((block) => toolCall(block, members))
  const message: JsonObject = { role: 'assistant', content: text === '' ? null : said, tool_calls: calls }
  for (const words of uses.flatMap(({ id }) => members.get(id)?.reasoning ?? [])) keepReasoning(message, words)
  return [message]
}

function toolCall({ id, name, input }: JsonObject, members: CallsBefore): JsonObject {
  const said = { name: sentName(String(name)), arguments: exactJson(input) }
  const back = members.get(id)?.member
  return {
    id: fittingCallId(String(id)),
    type: 'function',
    function: said,
    ...(back !== undefined && { [CALL_MEMBER]: back.member }),
  }
}

/** The text of a result. A chat has no member for a call that has failed. */
function resultText(result: JsonObject): string {
  const { content, is_error: isError } = result
  const text = typeof content === 'string' ? content : plainText(blocksOfResult(result), '\n')
  return text === '' && isError === true ? FAILED : text
}

function blocksOfResult(result: JsonObject): JsonObject[] {
  return Array.isArray(result['content']) ? (result['content'] as JsonObject[]) : []
}

// Many providers take only a string where there is nothing but one text.
function userContent(blocks: readonly JsonObject[]): unknown {
  const [first] = blocks
  const isShown = first?.['type'] === 'image' || (first !== undefined && isPdfDocument(first))
  if (first !== undefined && blocks.length === 1 && !isShown && first['cache_control'] === undefined)
    return textOf(first)
  return blocks.map((block) => {
    const cached = markOf(block)
    if (isPdfDocument(block)) {
      return { ...pdfPart(pdfDataUrl((block['source'] as JsonObject)['data']), block['title']), ...cached }
    }
    if (block['type'] !== 'image') return { type: 'text', text: textOf(block), ...cached }
    return { type: 'image_url', image_url: { url: imageUrl(block['source'] as JsonObject) }, ...cached }
  })
}

function imageUrl(source: JsonObject): string {
  if (source['type'] === 'url') return String(source['url'])
  return `data:${String(source['media_type'])};base64,${String(source['data'])}`
}

function plainText(content: unknown, joint: string): string {
  if (typeof content === 'string') return content
  return (content as JsonObject[])
    .map(textOf)
    .filter((text) => text !== '')
    .join(joint)
}

/** The text of a text block or of a document; '' for other blocks. */
function textOf(block: JsonObject): string {
  if (block['type'] === 'text') return String(block['text'])
  if (block['type'] !== 'document' || isPdfDocument(block)) return ''
  const { data } = block['source'] as JsonObject
  return [block['title'], block['context'], data].filter((text) => typeof text === 'string').join('\n')
}

function chatTools(native: JsonObject, marks: boolean): JsonObject {
  const { tools, tool_choice: choice } = native
  if (!Array.isArray(tools)) return {}
  const given = tools as JsonObject[]
  const members: JsonObject = {
    tools: given.map((tool) => (marks ? { ...chatTool(tool), ...markOf(tool) } : chatTool(tool))),
  }
  if (!isJsonObject(choice)) return members
  const { type, name } = choice
  members['tool_choice'] =
    type === 'tool' ? { type: 'function', function: { name: sentName(String(name)) } } : CHOICES[String(type)]
  if (choice['disable_parallel_tool_use'] === true) members['parallel_tool_calls'] = false
  return members
}

function chatTool({ name, description, input_schema: schema, strict }: JsonObject): JsonObject {
  const described = description === undefined ? {} : { description }
  // OpenAI refuses an object without the member.
  const parameters = isJsonObject(schema) && isPlainObject(schema) ? { ...schema, properties: {} } : schema
  return {
    type: 'function',
    function: {
      name: sentName(String(name)),
      ...described,
      parameters,
      ...(strict === true && isStrict(schema) ? { strict } : {}),
    },
  }
}

/** Whether every object of a schema names all of its members as required, without which OpenAI refuses `strict`. */
function isStrict(schema: unknown): boolean {
  if (Array.isArray(schema)) return schema.every(isStrict)
  if (!isJsonObject(schema)) return true
  const { properties, additionalProperties: more } = schema
  const names = isJsonObject(properties) ? Object.keys(properties) : []
  const isClosed = !isJsonObject(properties) || more === false
  const needed = requiredIn(schema)
  const isWhole = names.every((name) => needed.has(name))
  return isClosed && isWhole && partsOf(schema).every(isStrict)
}

/** An object that says nothing of its members. */
function isPlainObject(schema: JsonObject): boolean {
  const { type = 'object', properties } = schema
  return type === 'object' && properties === undefined && !isComposed(schema)
}
