import '../../../../contract/std/mendedJson.ts'
import { GatewayError } from '../../../../contract/errors/errors.ts'
import { readJsonBody } from '../../../../contract/std/jsonBody.ts'
import { mendSurrogates } from '../../../../contract/std/wellFormed.ts'
import { refusalOf } from '../../../../contract/wire/refusal.ts'
import { sampleText } from '../../../../workers/textSample.ts'
import { readMessagesRequest } from '../../../dialects/anthropic/messagesRequest.ts'
import { messagesOf, printCount } from '../../../dialects/anthropic/native.ts'
import type { ChatFields, ChatRequest } from '../../../dialects/shared/chatRequest.ts'
import type { Printed, SurfaceName } from '../../../dialects/shared/codec.ts'
import { codecOf } from '../../../dialects/shared/codec.ts'
import { readChat } from '../../../dialects/shared/readChat.ts'
import { checkBounds } from '../../../json/jsonBounds.ts'
import { conversationOf } from '../../run/affinity.ts'
import { promptTexts } from '../../tokens/promptTexts.ts'
import type { LargeReply, LargeTask, PromptSample } from '../largeTasks.ts'
import { sharedText } from '../sharedBytes.ts'
import { readLargeAnswer, readLargeMembers, readLargeResult, readLargeVectors } from './readAnswer.ts'
import { readLargeVideo, readUnit } from './readUnit.ts'
import { SURFACES } from './surfaces.ts'

/** Does a task with a large body; runs on a thread. */
export async function run(task: LargeTask): Promise<LargeReply> {
  try {
    checkBounds(bytesOf(task), task.bounds)
    return { value: await perform(task) }
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error
    return { refusal: refusalOf(error) }
  }
}

/** @returns the value, or a promise of it */
function perform(task: LargeTask): unknown {
  switch (task.name) {
    case 'chat':
      return fieldsOf(task.input.answers ? chatRequest(task, task.input.surface) : countRequest(task))
    case 'print':
      return print(task)
    case 'printCount':
      return sharedText(printCount(countRequest(task), task.input.model))
    case 'prompt':
      return prompt(task)
    case 'unit':
      return readUnit(task.input.endpoint, bytesOf(task), task.limits)
    case 'mcp':
      return readMcp(task)
    case 'members':
      return readLargeMembers(task.input, bytesOf(task), task.limits)
    case 'vectors':
      return readLargeVectors(task.input.to, bytesOf(task))
    case 'answer':
      return readLargeAnswer(task.input, bytesOf(task), task.limits)
    case 'tool':
      return readLargeResult(task.input, bytesOf(task), task.limits)
    case 'video':
      return readLargeVideo(bytesOf(task), task.limits)
  }
}

/** The library of the protocol is loaded where a thread needs it. */
async function readMcp(task: LargeTask): Promise<object> {
  const { readLargeMessage } = await import('../../mcp/largeMessage.ts')
  const read = readLargeMessage(bytesOf(task), task.limits)
  return 'rpc' in read || read.chat === undefined ? read : { ...read, chat: sharedText(read.chat) }
}

function print(task: Extract<LargeTask, { name: 'print' }>): Printed {
  const { surface, dialect, model } = task.input
  const printed = codecOf(SURFACES[surface], dialect).print(chatRequest(task, surface), model, null)
  const { rest, format } = printed
  const shared = { ...printed, rest: shareText(rest) }
  return format === undefined ? shared : { ...shared, format: shareText(format) }
}

function prompt(task: Extract<LargeTask, { name: 'prompt' }>): PromptSample {
  const { surface, imageTokens } = task.input
  const request = surface === 'messages' ? countRequest(task) : chatRequest(task, surface)
  const { text, extraTokens } = promptTexts(request.forward, imageTokens)
  return { text: sampleText(text, task.limits.countCharactersMax), extraTokens }
}

function chatRequest(task: LargeTask, surface: SurfaceName): ChatRequest {
  const bytes = bytesOf(task)
  mendSurrogates(bytes)
  return readChat(SURFACES[surface], bytes, readJsonBody(bytes, task.limits.jsonDepthMax), task.limits)
}

/** A Messages request for counting alone, without an answer. */
function countRequest(task: LargeTask): ReturnType<typeof messagesOf> {
  return readMessagesRequest(readJsonBody(bytesOf(task), task.limits.jsonDepthMax), task.limits, false)
}

function fieldsOf(request: ChatRequest): ChatFields {
  // A request may be an instance of a class whose getters compute members that are not needed here.
  const { modelId, batch, webhookUrl = '', cheapest, stream, includeUsage, maxTokens, maxTokensName } = request
  const { maxTokensBeside = null, maxTokensParam = maxTokensName, promptParam = 'messages', prompt } = request
  const {
    preferences,
    echo = '',
    tools = [],
    asides,
    models,
    named = [],
    returnsThoughts = false,
    compacts = false,
    tagging,
  } = request
  return {
    modelId,
    batch,
    webhookUrl,
    cheapest,
    stream,
    includeUsage,
    maxTokens,
    maxTokensName,
    maxTokensBeside,
    maxTokensParam,
    promptParam,
    prompt,
    preferences,
    echo,
    tools,
    named,
    returnsThoughts,
    compacts,
    models,
    conversation: conversationOf(request.native ?? request.forward),
    ...(asides !== undefined && { asides }),
    ...(tagging !== undefined && { tagging }),
  }
}

function shareText(text: string | Uint8Array): Uint8Array {
  return typeof text === 'string' ? sharedText(text) : text
}

function bytesOf({ body }: LargeTask): Buffer {
  return Buffer.from(body.buffer, body.byteOffset, body.byteLength)
}
