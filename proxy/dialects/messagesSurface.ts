import type { JsonObject } from '../../contract/std/jsonObject.ts'
import { mediaCount } from '../admission/holdSize.ts'
import { exactJson } from '../json/exactJson.ts'
import { anthropicErrorEvent } from './anthropic/anthropicEvents.ts'
import { inputOf } from './anthropic/anthropicMessages.ts'
import { anthropicUsageJson } from './anthropic/anthropicUsage.ts'
import { AnthropicWriter } from './anthropic/anthropicWriter.ts'
import { callsIn } from './anthropic/callBlocks.ts'
import { readMessagesRequest } from './anthropic/messagesRequest.ts'
import { messagesOf, nativeCodec } from './anthropic/native.ts'
import { stopReasonOf } from './anthropic/stopReasons.ts'
import { openaiProvider } from './openai/openaiProvider.ts'
import { printOpenai } from './openai/openaiRequestBuilder.ts'
import { type ClientTool, clientTool } from './shared/clientTools.ts'
import type { AnswerContext, ChatSurface } from './shared/codec.ts'
import type { Message, ToolCall } from './shared/message.ts'
import { OWN_SIGNATURE } from './shared/ownReasoning.ts'
import type { PackBound } from './shared/packed.ts'
import { SerialWriter } from './shared/serialWriter.ts'
import { callThought, packedBlock } from './shared/thought.ts'
import { type ClientSide, type ProviderSide, translate } from './shared/translate.ts'

const openaiForMessages: ProviderSide = {
  ...openaiProvider,
  print: (request, model) => printOpenai(messagesOf(request).asChat(model), model),
}

/** Clients of the Messages format whose provider speaks another dialect. */
const messagesClient: ClientSide = {
  writer: ({ requestId, model, request, limits }) =>
    new SerialWriter(new AnthropicWriter(requestId, model.id, usualTokens(request, model), request.tools, limits)),
  head: messageHead,
  usage: anthropicUsageJson,
}

/** POST /v1/messages. */
export const messagesSurface: ChatSurface<'messages'> = {
  name: 'messages',
  endpoint: 'messages',
  read: (body, limits) => readMessagesRequest(body, limits),
  callsIn,
  codecs: { openai: translate(openaiForMessages, messagesClient), anthropic: nativeCodec },
  faultEvents: anthropicErrorEvent,
}

const BYTES_PER_TOKEN_USUAL = 4

/** The tokens of a prompt by a usual ratio, for clients to show until the provider has counted them. */
function usualTokens({ prompt }: AnswerContext['request'], { imageTokens }: AnswerContext['model']): number {
  return Math.ceil(prompt.textBytes / BYTES_PER_TOKEN_USUAL) + mediaCount(prompt) * imageTokens
}

function messageHead(message: Message, { requestId, model, request, limits }: AnswerContext): string {
  return (
    `{"id":"${requestId}","type":"message","role":"assistant","model":${JSON.stringify(model.id)}` +
    `,"content":${exactJson(contentOf(message, request.tools, limits))},"stop_reason":"${stopReasonOf(message.finish)}"` +
    ',"stop_sequence":null'
  )
}

function contentOf(
  { text, reasoning, refusal, toolCalls }: Message,
  tools: readonly ClientTool[] | undefined,
  bound: PackBound,
): JsonObject[] {
  const blocks: JsonObject[] = []
  if (reasoning !== '') blocks.push({ type: 'thinking', thinking: reasoning, signature: OWN_SIGNATURE })
  if (text + refusal !== '') blocks.push({ type: 'text', text: text + refusal })
  for (const call of toolCalls) {
    const member = packedBlock(callThought(call.extra), bound)
    if (member !== null) blocks.push(member)
    blocks.push(toolUse(call, tools))
  }
  return blocks
}

function toolUse({ id, name, arguments: text }: ToolCall, tools: readonly ClientTool[] | undefined): JsonObject {
  return { type: 'tool_use', id, name: clientTool(tools, name).name, input: inputOf(text) }
}
