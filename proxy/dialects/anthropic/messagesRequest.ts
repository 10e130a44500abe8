import { CACHE_MEMBER } from '../../../contract/catalog/requestForm.ts'
import { GatewayError, invalidRequest } from '../../../contract/errors/errors.ts'
import type { Tagging } from '../../../contract/money/tags.ts'
import { isJsonObject, type JsonObject } from '../../../contract/std/jsonObject.ts'
import type { PromptSize } from '../../admission/holdSize.ts'
import {
  isGiven,
  readBoolean,
  readModels,
  readName,
  readPositiveInteger,
  readWord,
  refuseBatch,
} from '../../json/fields.ts'
import { readMessagesTagging } from '../../json/tagging.ts'
import type { DialectLimits } from '../limits.ts'
import { countOption } from '../openai/options.ts'
import type { Asides } from '../shared/asides.ts'
import { calledTools, countDefinitions } from '../shared/calledTools.ts'
import type { ChatFields, ChatRequest } from '../shared/chatRequest.ts'
import { type ClientTool, differs, sentName } from '../shared/clientTools.ts'
import type { AskModel } from '../shared/codec.ts'
import { readPreferences } from '../shared/preferences.ts'
import { countPrefill } from '../shared/prefill.ts'
import { withoutRefused } from '../shared/refusedParts.ts'
import { asidesOf } from '../shared/requestForm.ts'
import { type Reading, ROLES, readContent } from './blocks.ts'
import { readCacheControl } from './cacheControl.ts'
import { CallMembers } from './callMembers.ts'
import { THOUGHTS } from './foreignThoughts.ts'
import { needsRepair, withoutDocuments } from './nativeBody.ts'
import { readOutputConfig, readSampling, readThinking, readTools } from './options.ts'
import { pairedBlocks } from './pairedBlocks.ts'
import { chatBody, effortFor } from './toChat.ts'

const KNOWN: ReadonlySet<string> = new Set(
  (
    'model models max_tokens messages system tools tool_choice stream stop_sequences temperature top_p top_k thinking ' +
    'output_config output_format metadata cache_control provider batch'
  ).split(' '),
)

/** A Messages request that is valid by itself. */
export class MessagesRequest implements ChatRequest {
  readonly modelId: string
  readonly models?: readonly string[] | undefined
  readonly batch: boolean
  readonly cheapest: boolean
  readonly stream: boolean
  readonly includeUsage: boolean
  readonly maxTokens: number | null
  readonly maxTokensName: 'max_tokens'
  readonly prompt: PromptSize
  readonly preferences: ChatRequest['preferences']
  readonly tools: readonly ClientTool[]
  readonly tagging?: Tagging
  readonly asides?: Asides
  readonly named: readonly string[]
  /** The members of the body that may go to a provider that speaks the format. */
  readonly native: JsonObject

  private readonly read: ChatFields
  private readonly members: CallMembers
  private translated: JsonObject | undefined

  constructor(read: ChatFields, native: JsonObject, members: CallMembers) {
    this.members = members
    this.modelId = read.modelId
    this.models = read.models
    this.batch = read.batch
    this.cheapest = read.cheapest
    this.stream = read.stream
    this.includeUsage = read.includeUsage
    this.maxTokens = read.maxTokens
    this.maxTokensName = 'max_tokens'
    this.prompt = read.prompt
    this.preferences = read.preferences
    this.tools = read.tools ?? []
    if (read.tagging !== undefined) this.tagging = read.tagging
    if (read.asides !== undefined) this.asides = read.asides
    this.named = read.named ?? []
    this.native = native
    this.read = read
  }

  /** The body in the format of chat completions, made when it is first asked for. */
  get forward(): JsonObject {
    this.translated ??= chatBody(this.native, this.members.byId, false)
    return this.translated
  }

  /** The request in the format of chat completions, for a model that may or may not think. */
  asChat(model: Pick<AskModel, 'thinking' | 'maxOutput' | 'pdfTokens' | 'form' | 'leavesOut'>): ChatRequest {
    const { thinking } = this.native
    const effort = model.thinking === 'none' ? null : effortFor(this.native, this.maxTokens ?? model.maxOutput)
    const lacksPdfs = (this.prompt.pdfs ?? 0) > 0 && (model.pdfTokens ?? 0) === 0
    const shown = lacksPdfs ? withoutDocuments(this.native) : this.native
    // Results show their images to the user of a chat, where they would seem to be new.
    const native = withoutRefused(shown, model.leavesOut)
    const takesMarks = model.form?.extra.includes(CACHE_MEMBER) === true
    const isUsual = native === this.native && !takesMarks
    const whole = isUsual ? this.forward : chatBody(native, this.members.byId, takesMarks)
    const forward = effort === null ? whole : { ...whole, reasoning_effort: effort }
    const said = effort ?? (isJsonObject(thinking) && thinking['type'] === 'disabled' ? 'none' : null)
    return { forward, ...(said !== null && { effort: said }), ...this.read }
  }
}

/**
 * Validates the body of POST /v1/messages, or of its count_tokens. Members that are not listed here are dropped, because a
 * provider may bill for them: tiers and regions, tools of the provider's, containers, stored state.
 * @param answers whether the request asks for an answer, which needs max_tokens
 * @throws GatewayError 400 with the field at fault
 */
export function readMessagesRequest(body: JsonObject, limits: DialectLimits, answers = true): MessagesRequest {
  const model = readModels(body, limits)
  if (answers) refuseBatch(model)
  const maxTokens = readPositiveInteger(body, 'max_tokens')
  if (answers && maxTokens === null)
    throw invalidRequest('max_tokens is missing; it must be a positive integer.', 'max_tokens')
  const prompt: PromptSize = { textBytes: 0, messages: 0, images: 0, tools: 0, optionBytes: 0 }
  const joined: unknown[] = []
  const members = new CallMembers(limits)
  const { messages, effort } = readMessages(body['messages'], { size: prompt, tools: joined, members }, limits)
  const native: JsonObject = { messages }
  if (isGiven(body['system'])) {
    const system = readContent(body['system'], 'system', 'system', {
      size: prompt,
      tools: joined,
      newest: false,
      members,
    })
    if (system.length > 0) native['system'] = system
    prompt.messages++
  }
  const sampling = readSampling(body, prompt, limits)
  const tools = readTools(body, joined, prompt, limits)
  Object.assign(native, tools.members, sampling)
  const given: JsonObject = {
    thinking: readThinking(body['thinking'], maxTokens),
    output_config: readOutputConfig(body, effort, prompt),
    metadata: readMetadata(body['metadata'], prompt, limits),
    cache_control: isGiven(body['cache_control']) ? readCacheControl(body['cache_control'], 'cache_control') : null,
  }
  for (const name in given) if (given[name] !== null) native[name] = given[name]
  if (needsRepair(native)) prompt.rewritten = true
  if (native['tools'] === undefined) {
    countDefinitions(calledTools(native['messages'] as JsonObject[], limits.calledToolsMax)['tools'], prompt)
  }
  const read: ChatFields = {
    modelId: model.modelId,
    models: model.models,
    batch: false,
    cheapest: model.cheapest,
    stream: readBoolean(body, 'stream'),
    includeUsage: true,
    maxTokens,
    maxTokensName: 'max_tokens',
    stopParam: 'stop_sequences',
    prompt,
    preferences: readPreferences(body['provider']),
    ...readMessagesTagging(body, limits),
    ...asidesOf(body, KNOWN, limits.droppedNamesMax, tools.inPart),
    named: Object.keys(sampling),
    ...renamedTools(native['tools']),
  }
  return new MessagesRequest(read, native, members)
}

/** The messages that a model can be shown, and the effort that the last instruction about it asks for. */
function readMessages(
  value: unknown,
  into: Omit<Reading, 'newest'>,
  limits: DialectLimits,
): { messages: JsonObject[]; effort: string | null } {
  const { size } = into
  if (!Array.isArray(value) || value.length === 0) {
    throw invalidRequest('messages must be a non-empty array of {role, content}.', 'messages')
  }
  if (value.length > limits.messagesMax) {
    throw invalidRequest(`messages may hold at most ${limits.messagesMax} entries.`, 'messages')
  }
  size.messages += value.length
  const messages: JsonObject[] = []
  let effort: string | null = null
  const newest = value.findLastIndex((message: unknown) => isJsonObject(message) && message['role'] === 'user')
  for (const [i, message] of value.entries()) {
    const field = `messages[${i}]`
    if (!isJsonObject(message)) throw invalidRequest(`${field} must be an object with role and content.`, field)
    const { role, content: sent } = message
    if (typeof role !== 'string' || !ROLES.has(role)) {
      throw invalidRequest(`${field}.role must be user, assistant or system.`, `${field}.role`)
    }
    const reading = { ...into, newest: i === newest && !holdsResult(sent) }
    into.members.begin()
    if (role === 'system') {
      size.rewritten = true
      effort = readEffort(message['output_config'], field) ?? effort
    }
    const read = isEmpty(sent) ? [] : readContent(sent, role, `${field}.content`, reading)
    // Turns of one side that follow each other are one.
    const ends = role === 'assistant' && roleOf(value[i + 1]) !== role
    const content = ends ? withoutLastThoughts(read, size) : read
    if (content.length > 0) messages.push({ role, content })
    else if (i === newest && isEmpty(sent)) throw invalidRequest(`${field}.content is empty.`, `${field}.content`)
  }
  if (messages.length === 0) throw invalidRequest('messages holds nothing that a model can be shown.', 'messages')
  if (size.images > limits.imagesMax) throw new GatewayError('too_many_images', { param: 'messages' })
  const paired = pairedBlocks(messages, size)
  countPrefill(paired, size)
  return { messages: paired, effort }
}

function roleOf(message: unknown): unknown {
  return isJsonObject(message) ? message['role'] : undefined
}

/** The format refuses a turn of the assistant that ends with thinking, as of one that was stopped or whose rest was left out. */
function withoutLastThoughts(content: string | JsonObject[], size: PromptSize): string | JsonObject[] {
  if (typeof content === 'string') return content
  const last = content.findLastIndex(({ type }) => !THOUGHTS.has(type))
  if (last === content.length - 1) return content
  size.rewritten = true
  return content.slice(0, last + 1)
}

/** How much to think from a message on, which clients say so that what precedes it stays cached. */
function readEffort(config: unknown, field: string): string | null {
  return isJsonObject(config) ? readWord(config['effort'], `${field}.output_config.effort`) : null
}

// An agent goes on by itself after a result, and no user is there to take back what cannot be served.
function holdsResult(content: unknown): boolean {
  return Array.isArray(content) && content.some((block) => isJsonObject(block) && block['type'] === 'tool_result')
}

function isEmpty(content: unknown): boolean {
  return !isGiven(content) || content === '' || (Array.isArray(content) && content.length === 0)
}

/** The tools whose names providers of another dialect do not take. */
function renamedTools(tools: unknown): { tools?: readonly ClientTool[] } {
  const named: ClientTool[] = ((tools ?? []) as readonly { name: string }[]).map(({ name }) => ({
    sent: sentName(name),
    name,
    kind: 'function',
  }))
  const renamed = named.filter(differs)
  return renamed.length === 0 ? {} : { tools: renamed }
}

function readMetadata(metadata: unknown, size: PromptSize, limits: DialectLimits): JsonObject | null {
  if (!isGiven(metadata)) return null
  if (!isJsonObject(metadata)) throw invalidRequest('metadata must be an object.', 'metadata')
  const user = readName(metadata, 'user_id', limits, 'metadata.user_id')
  if (user === null) return null
  countOption(user, size)
  return { user_id: user }
}
