import { usageJson } from '../../../contract/money/openaiUsage.ts'
import { type ClientTool, clientTool } from '../shared/clientTools.ts'
import type { AnswerContext } from '../shared/codec.ts'
import { customInput } from '../shared/customTools.ts'
import type { Message, ToolCall } from '../shared/message.ts'
import type { ClientSide } from '../shared/translate.ts'
import { calledTool } from './chatTools.ts'
import { OpenaiWriter } from './openaiWriter.ts'

/** Clients of chat completions, where the provider's answer cannot go through. */
export const chatClient: ClientSide = {
  writer: (context) => new OpenaiWriter(context),
  head: completionHead,
  usage: usageJson,
}

function completionHead(message: Message, context: AnswerContext): string {
  const { requestId, model, startedAtMs, request } = context
  const choice = { index: 0, message: saidBy(message, request.tools), logprobs: null, finish_reason: message.finish }
  return (
    `{"id":"${requestId}","object":"chat.completion","created":${Math.floor(startedAtMs / 1000)}` +
    `,"model":${JSON.stringify(model.id)},"choices":[${JSON.stringify(choice)}]`
  )
}

function saidBy(message: Message, tools: readonly ClientTool[] | undefined): object {
  const { text, reasoning, refusal, toolCalls } = message
  return {
    role: 'assistant',
    content: text === '' && toolCalls.length > 0 ? null : text,
    refusal: refusal === '' ? null : refusal,
    ...(reasoning === '' ? {} : { reasoning_content: reasoning }),
    ...(toolCalls.length === 0 ? {} : { tool_calls: toolCalls.map((call) => callOf(call, tools)) }),
  }
}

function callOf({ id, name, arguments: text, extra }: ToolCall, tools: readonly ClientTool[] | undefined): object {
  const tool = clientTool(tools, name)
  return { ...calledTool(tool, id, tool.kind === 'custom' ? customInput(text) : text), ...extra }
}
