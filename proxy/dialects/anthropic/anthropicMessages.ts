import { argumentsWithin, lacksArguments } from '../../../contract/api/callPiece.ts'
import { isJsonObject, type JsonObject } from '../../../contract/std/jsonObject.ts'
import { wellFormedJson } from '../../../contract/std/wellFormed.ts'
import { exactObject } from '../../json/exactJson.ts'
import { calledName } from '../shared/clientTools.ts'
import { plainBase64, readDataUrl } from '../shared/dataUrl.ts'
import { leftOut } from '../shared/leftOut.ts'
import { PDF_TYPE, pdfOfDataUrl } from '../shared/pdf.ts'
import type { PlacedThought } from '../shared/thought.ts'
import { placedSystem } from './placedSystem.ts'

/** A prompt in the Messages format. */
export interface AnthropicPrompt {
  /** Text blocks. */
  readonly system: JsonObject[]
  readonly messages: readonly JsonObject[]
}

type ThoughtsOf = ReadonlyMap<JsonObject, readonly PlacedThought[]>

const NO_THOUGHTS: ThoughtsOf = new Map()
const NONE: readonly PlacedThought[] = []

interface Turn extends JsonObject {
  readonly role: string
  readonly content: JsonObject[]
}

/** The user's text in a conversation that the assistant begins. */
export const NOTHING_SAID = '...'
const NOT_BLANK = /\S/
const SIDES: ReadonlyMap<unknown, string> = new Map([
  ['assistant', 'assistant'],
  ['system', 'system'],
  ['developer', 'system'],
])
/** Characters that tool call ids of this format cannot have. */
const NOT_IN_IDS = /[^A-Za-z0-9_-]/g

/**
 * Puts the checked messages of a chat request into the Messages format: instructions where `placedSystem` has them, tool
 * results in the user's turn, consecutive messages of one side as one.
 * @param first whether the provider takes no instructions but those before the first turn
 * @param thoughts thinking that is to go back to the provider, by its message
 */
export function anthropicPrompt(
  messages: readonly JsonObject[],
  first: boolean,
  thoughts: ThoughtsOf = NO_THOUGHTS,
): AnthropicPrompt {
  const said = turnsOf(messages, thoughts)
  // The format needs a turn of the user.
  if (said.length === 0) said.push(nothingSaid())
  const { system = [], messages: placed } = placedSystem({ messages: said }, first)
  const turns = joinedTurns(placed as Turn[])
  // The format begins with a turn of the user, and refuses white space at the end of an answer that is to be continued.
  if (turns[0]?.role === 'assistant') turns.unshift(nothingSaid())
  const last = turns.at(-1)
  if (last !== undefined) turns[turns.length - 1] = trimmedTurn(last)
  return { system: system as JsonObject[], messages: turns }
}

function nothingSaid(): Turn {
  return { role: 'user', content: [{ type: 'text', text: NOTHING_SAID }] }
}

/** The turns of the conversation, and the instructions between them as messages of their own. */
function turnsOf(messages: readonly JsonObject[], thoughts: ThoughtsOf): Turn[] {
  const turns: Turn[] = []
  for (const message of messages) {
    const role = message['role']
    const content = blocksOf(message, thoughts.get(message) ?? NONE)
    if (content.length === 0) continue
    const side = SIDES.get(role) ?? 'user'
    const last = turns[turns.length - 1]
    if (last?.role !== side) turns.push({ role: side, content })
    else if (role === 'tool') last.content.splice(resultsIn(last.content), 0, ...content)
    else last.content.push(...content)
  }
  return turns
}

/** Instructions that the user says join the user's turn. */
function joinedTurns(turns: readonly Turn[]): Turn[] {
  const out: Turn[] = []
  for (const { role, content } of turns) {
    const last = out.at(-1)
    if (last?.role === role) last.content.push(...content)
    else out.push({ role, content: [...content] })
  }
  return out
}

/** How many results a turn of the user begins with: they precede everything else that is said in it. */
function resultsIn(content: readonly JsonObject[]): number {
  const end = content.findIndex(({ type }) => type !== 'tool_result')
  return end < 0 ? content.length : end
}

/**
 * The newest turn of a conversation without white space at the end of its text, if the assistant has said it: the format
 * refuses that in an answer that is to be continued.
 */
export function trimmedTurn<Said extends JsonObject>(turn: Said): Said {
  const { role, content } = turn
  if (role !== 'assistant') return turn
  if (typeof content === 'string') return endsBlank(content) ? { ...turn, content: content.trimEnd() } : turn
  const blocks = content as readonly JsonObject[]
  const last = blocks.at(-1)
  if (last?.['type'] !== 'text' || !endsBlank(String(last['text']))) return turn
  return { ...turn, content: [...blocks.slice(0, -1), { ...last, text: String(last['text']).trimEnd() }] }
}

function endsBlank(text: string): boolean {
  return isBlank(text.slice(-1))
}

function blocksOf(message: JsonObject, thoughts: readonly PlacedThought[]): JsonObject[] {
  const { content } = message
  if (message['role'] === 'tool') {
    const result = contentBlocks(content)
    const said = result.length === 0 ? {} : { content: result }
    return [{ type: 'tool_result', tool_use_id: callId(message['tool_call_id']), ...said }]
  }
  const calls = Array.isArray(message['tool_calls']) ? (message['tool_calls'] as JsonObject[]) : []
  const before = (place: number | null): JsonObject[] =>
    thoughts.filter(({ beforeCall }) => beforeCall === place).map(({ thought }) => ({ ...thought }))
  const said = message['role'] === 'user' ? contentBlocks(content) : contentBlocks(content).map(sayable)
  if (typeof message['refusal'] === 'string') said.push(...contentBlocks(message['refusal']))
  return [...before(null), ...said, ...calls.flatMap((call, i) => [...before(i), toolUse(call)])]
}

/** The format takes images and documents from users alone. */
function sayable(block: JsonObject): JsonObject {
  return block['type'] === 'text' ? block : { type: 'text', text: leftOut(block['type']) }
}

function contentBlocks(content: unknown): JsonObject[] {
  if (typeof content === 'string') return isBlank(content) ? [] : [{ type: 'text', text: content }]
  return Array.isArray(content) ? (content as JsonObject[]).flatMap(blockOf) : []
}

function blockOf(part: JsonObject): JsonObject[] {
  const cached = part['cache_control'] === undefined ? {} : { cache_control: part['cache_control'] }
  if (part['type'] === 'image_url') return [{ type: 'image', source: imageSource(part['image_url']), ...cached }]
  if (part['type'] === 'file' && isJsonObject(part['file'])) return [{ ...documentOf(part['file']), ...cached }]
  const text = part['type'] === 'refusal' ? part['refusal'] : part['text']
  return isBlank(text) ? [] : [{ type: 'text', text, ...cached }]
}

function documentOf({ file_data: url, filename }: JsonObject): JsonObject {
  const source = { type: 'base64', media_type: PDF_TYPE, data: plainBase64(pdfOfDataUrl(url) ?? '') }
  return { type: 'document', source, title: filename }
}

/** Whether a checked block is a PDF: other documents are texts. */
export function isPdfDocument({ type, source }: JsonObject): boolean {
  return type === 'document' && isJsonObject(source) && source['type'] === 'base64'
}

/** The format refuses texts of nothing but white space. */
export function isBlank(text: unknown): boolean {
  return typeof text === 'string' && !NOT_BLANK.test(text)
}

function imageSource(image: unknown): JsonObject {
  const url = String(isJsonObject(image) ? image['url'] : image)
  const found = readDataUrl(url)
  return found === null
    ? { type: 'url', url }
    : { type: 'base64', media_type: found.type, data: plainBase64(found.base64) }
}

function toolUse(call: JsonObject): JsonObject {
  const said = isJsonObject(call['function']) ? call['function'] : {}
  const name = calledName(String(said['name']))
  return { type: 'tool_use', id: callId(call['id']), name, input: inputOf(String(said['arguments'])) }
}

/** The arguments of a call as an object. Text that a model left unfinished is kept. */
export function inputOf(text: string): JsonObject {
  const whole = wellFormedJson(text)
  return exactObject(argumentsWithin(whole) ?? whole) ?? (lacksArguments(text) ? {} : { arguments: text })
}

/** The id of a tool call in the pattern of this format. */
export function callId(id: unknown): string {
  return String(id).replace(NOT_IN_IDS, '_')
}
