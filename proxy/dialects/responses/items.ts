import { jsonBytes } from '../../../contract/api/completion.ts'
import { GatewayError, invalidRequest } from '../../../contract/errors/errors.ts'
import { isJsonObject, type JsonObject } from '../../../contract/std/jsonObject.ts'
import type { PromptSize } from '../../admission/holdSize.ts'
import { isGiven } from '../../json/fields.ts'
import type { DialectLimits } from '../limits.ts'
import { jointBytes } from '../openai/plainResults.ts'
import { countReasoning, keepReasoning } from '../shared/keptReasoning.ts'
import { leftOut } from '../shared/leftOut.ts'
import { unpackReasoning } from '../shared/ownReasoning.ts'
import { pairedResults } from '../shared/pairedResults.ts'
import { countPrefill } from '../shared/prefill.ts'
import { callIdText, readText, textOf } from '../shared/text.ts'
import {
  type BlockThought,
  type CallThought,
  giveBack,
  type PlacedThought,
  shownOf,
  unpackThought,
} from '../shared/thought.ts'
import { callIdOf, callOf, outputOf } from './calls.ts'
import { type Content, readContent } from './content.ts'
import { ITEM_KINDS, itemKind } from './itemKinds.ts'
import { unpackSummary } from './summary.ts'

/** Roles of input messages, mapped to roles of a chat: not every provider knows the role `developer`. */
const ROLES: ReadonlyMap<unknown, string> = new Map([
  ['user', 'user'],
  ['assistant', 'assistant'],
  ['system', 'system'],
  ['developer', 'system'],
])

/** The input of a response as a chat has it. */
export interface Input {
  readonly messages: readonly JsonObject[]
  readonly size: PromptSize
  /** Thinking that providers may want back, by the message that it led to. */
  readonly thoughts: ReadonlyMap<JsonObject, readonly PlacedThought[]>
  /** Tools that items bring along, from the oldest to the newest; they join those of the request. */
  readonly tools: readonly unknown[]
}

/**
 * Reads `instructions` and `input` into the messages of a chat, and measures the text that the model will read. Only known
 * members are forwarded, so that no text reaches the model that the hold does not cover. `itemKinds.ts` says what becomes
 * of each kind of item.
 * @throws GatewayError 400 with the field at fault; too_many_images
 */
export function readInput(body: JsonObject, limits: DialectLimits): Input {
  const { instructions, input } = body
  const reader = new InputReader(limits)
  const { size, messages } = reader
  if (isGiven(instructions) && instructions !== '') {
    messages.push({ role: 'system', content: readText(instructions, 'instructions', size) })
  }
  const before = messages.length
  if (typeof input === 'string') messages.push({ role: 'user', content: readText(input, 'input', size) })
  else reader.addAll(input)
  if (messages.length === before && !reader.hasJoined)
    throw invalidRequest('input must hold a message or a function_call_output.', 'input')
  if (size.images > limits.imagesMax) throw new GatewayError('too_many_images', { param: 'input' })
  size.messages = messages.length
  const paired = pairedResults(messages, size)
  countPrefill(paired, size)
  return { messages: paired, size, thoughts: reader.thoughts, tools: reader.tools }
}

const SYSTEM_JOINT = '\n\n'

class InputReader {
  readonly messages: JsonObject[] = []
  readonly size: PromptSize = { textBytes: 0, messages: 0, images: 0 }
  readonly tools: unknown[] = []
  readonly thoughts = new Map<JsonObject, PlacedThought[]>()
  /** Whether an instruction of the input has become a part of those before it. */
  hasJoined = false
  /** Thinking whose message has not come yet. */
  private pending: BlockThought[] = []
  /** The words of that thinking. */
  private reasoning: string[] = []
  /** The member of the call that comes next. */
  private member: CallThought | null = null
  /** The ids of calls that were left out, whose outputs are left out too. */
  private readonly skipped = new Set<string>()
  private readonly limits: DialectLimits

  constructor(limits: DialectLimits) {
    this.limits = limits
  }

  /** @throws GatewayError 400 with the item at fault */
  addAll(input: unknown): void {
    const { messagesMax } = this.limits
    if (!Array.isArray(input)) throw invalidRequest('input must be a string or an array of items.', 'input')
    if (input.length > messagesMax) throw invalidRequest(`input may hold at most ${messagesMax} items.`, 'input')
    const newest = input.findLastIndex((item: unknown) => isJsonObject(item) && item['role'] === 'user')
    input.forEach((item: unknown, i) => {
      this.add(item, `input[${i}]`, i >= newest)
    })
  }

  /** @param newest whether the item is part of the turn that is to be answered, rather than of the history */
  private add(item: unknown, field: string, newest: boolean): void {
    if (!isJsonObject(item)) throw invalidRequest(`${field} must be an object.`, field)
    const type = item['type'] ?? impliedType(item, field)
    if (typeof type !== 'string') throw invalidRequest(`${field}.type must be a string.`, `${field}.type`)
    const { action, becomes } = itemKind(type)
    if (action === 'refuse') {
      const message = REFUSALS[type] ?? `of type ${type} is ${becomes}.`
      throw new GatewayError('unsupported_parameter', { message: `${field} ${message}`, param: field })
    }
    if (Array.isArray(item['tools']) && action === 'join') this.tools.push(...(item['tools'] as unknown[]))
    if (type === 'reasoning') this.addThought(item)
    else if (SUMMARIES.has(type)) this.addSummary(item, field)
    else if (type === 'message' || type === 'agent_message') this.addMessage(item, type, field, newest)
    else if (type.endsWith('_output')) this.addOutput(item, action === 'skip', field)
    else if (action === 'skip' || !this.addCall(item, field)) this.skipped.add(callIdOf(item))
  }

  private addMessage(item: JsonObject, type: string, field: string, newest: boolean): void {
    const role = type === 'agent_message' ? 'user' : ROLES.get(item['role'])
    if (role === undefined) {
      throw invalidRequest(`${field}.role must be user, assistant, system or developer.`, `${field}.role`)
    }
    // Agents write to each other as they go on: no user has sent it, or could take it back.
    const isNew = newest && type === 'message' && role === 'user'
    const said = isNew ? item['content'] : (item['content'] ?? '')
    const content = readContent(said, `${field}.content`, this.size, isNew)
    if (role === 'system' && this.joinsInstructions(content)) return
    if (role !== 'assistant') this.addTurn(role, content.chat)
    else if (content.images === 0) this.addSaid(content)
    else if (!newest) {
      this.size.images -= content.images
      this.addSaid({ ...content, text: content.text + leftOut('image') })
    } else
      throw invalidRequest(`${field}.content of the assistant may hold output_text and refusal.`, `${field}.content`)
  }

  /** Adds what another side than the assistant says; nothing was said after the thinking before it. */
  private addTurn(role: string, content: Content['chat']): void {
    this.messages.push({ role, content })
    this.pending = []
    this.reasoning = []
    this.member = null
  }

  // Many templates take one system message, and agents send several at the beginning.
  private joinsInstructions({ chat }: Content): boolean {
    const [first, ...others] = this.messages
    if (first?.['role'] !== 'system' || others.length > 0 || typeof chat !== 'string') return false
    if (typeof first['content'] !== 'string') return false
    first['content'] += SYSTEM_JOINT + chat
    this.hasJoined = true
    this.size.textBytes += SYSTEM_JOINT.length
    return true
  }

  // Reasoning that cannot be read is another gateway's, and is left out like every item that no provider can be shown.
  private addThought(item: JsonObject): void {
    const { content, summary, encrypted_content: packed } = item
    const thought = unpackThought(packed, this.limits)
    const hidden = () => (thought === null ? unpackReasoning(packed, this.limits) : shownOf(thought))
    const words = textOf(content) || textOf(summary) || hidden()
    if (words !== '') this.reasoning.push(words)
    if (thought === null || thought.type === 'call_member') {
      if (words !== '') countReasoning(words, this.size)
      this.member = thought ?? this.member
      return
    }
    // A provider gets either this or its words.
    this.size.keptReasoning = true
    this.pending.push(thought)
    this.size.optionBytes = (this.size.optionBytes ?? 0) + jsonBytes(thought)
  }

  private addSummary(item: JsonObject, field: string): void {
    const summary = unpackSummary(item['encrypted_content'], this.limits)
    if (summary === null) return
    this.messages.push({ role: 'user', content: readText(summary, `${field}.encrypted_content`, this.size) })
    this.pending = []
    this.reasoning = []
  }

  /** Puts the pending thinking before what the newest message says next. */
  private placeThoughts(beforeCall: number | null): void {
    const message = this.messages.at(-1)
    if (message === undefined) return
    for (const words of this.reasoning) keepReasoning(message, words)
    this.reasoning = []
    if (this.pending.length === 0) return
    const placed = this.pending.map((thought) => ({ thought, beforeCall }))
    this.thoughts.set(message, [...(this.thoughts.get(message) ?? []), ...placed])
    this.pending = []
  }

  // Text that the assistant wrote among its calls belongs to the message with the calls, which their outputs have to follow.
  private addSaid({ text, refusal }: Content): void {
    // Some providers refuse a turn in which nothing is said.
    if (text === '' && refusal === '') return
    const last = this.messages.at(-1)
    const refused = refusal === '' ? {} : { refusal }
    if (last?.['role'] !== 'assistant' || last['tool_calls'] === undefined) {
      this.messages.push({ role: 'assistant', content: text === '' && refusal !== '' ? null : text, ...refused })
      this.placeThoughts(null)
      return
    }
    this.placeThoughts(null)
    if (text !== '') last['content'] = String(last['content'] ?? '') + text
    Object.assign(last, refused)
  }

  /** @returns whether the item is a call that the client has run */
  private addCall(item: JsonObject, field: string): boolean {
    if (item['type'] === 'function_call') checkCall(item, field)
    const said = callOf(item)
    if (said === null) return item['type'] === 'additional_tools'
    const call: JsonObject = {
      id: readText(callIdOf(item), `${field}.call_id`, this.size),
      type: 'function',
      function: {
        name: readText(said.name, `${field}.name`, this.size),
        arguments: readText(said.arguments, `${field}.arguments`, this.size),
      },
    }
    giveBack(call, this.member, this.size)
    this.member = null
    const last = this.messages.at(-1)
    const calls = last?.['role'] === 'assistant' && Array.isArray(last['tool_calls']) ? last['tool_calls'] : []
    calls.push(call)
    if (last?.['role'] === 'assistant') last['tool_calls'] = calls
    else this.messages.push({ role: 'assistant', content: null, tool_calls: calls })
    this.placeThoughts(calls.length - 1)
    return true
  }

  private addOutput(item: JsonObject, skip: boolean, field: string): void {
    const { type, call_id: given, name } = item
    const id = WITH_ID.has(type) ? callIdOf(item) : callIdText(given)
    const hasId = isGiven(id) && id !== ''
    if (skip || (type === 'tool_search_output' && !hasId) || (typeof id === 'string' && this.skipped.has(id))) return
    const content = readContent(outputOf(item), `${field}.output`, this.size, false).chat
    this.size.textBytes += jointBytes(content)
    if (hasId) this.messages.push({ role: 'tool', tool_call_id: readText(id, `${field}.call_id`, this.size), content })
    // Codex delivers tasks and messages of other threads as outputs of calls that this thread has not made.
    else if (isGiven(name)) this.addTurn('user', content)
    else this.messages.push({ role: 'tool', content })
  }
}

/** Outputs that some clients send with the id of the call as their own. */
const WITH_ID: ReadonlySet<unknown> = new Set([
  'local_shell_call_output',
  'shell_call_output',
  'apply_patch_call_output',
])

/** Items with a summary of what was said before. */
const SUMMARIES: ReadonlySet<string> = new Set(['compaction', 'compaction_summary', 'context_compaction'])

// Messages may leave out their type, and so may references.
function impliedType(item: JsonObject, field: string): string {
  if (isGiven(item['role'])) return 'message'
  if (isGiven(item['id'])) return 'item_reference'
  throw invalidRequest(
    `${field}.type is missing; it must be one of ${Object.keys(ITEM_KINDS).join(', ')}.`,
    `${field}.type`,
  )
}

const REFUSALS: Readonly<Record<string, string>> = {
  compaction_trigger: 'asks for a summary, which only the last item may.',
  item_reference:
    'refers to an item, but nothing is stored here: send the item itself (in the package ai: providerOptions.openai.store false).',
}

function checkCall(item: JsonObject, field: string): void {
  const { name } = item
  if (callIdOf(item) === '') throw invalidRequest(`${field}.call_id must be a string.`, `${field}.call_id`)
  if (typeof name !== 'string') throw invalidRequest(`${field}.name must be a string.`, `${field}.name`)
}
