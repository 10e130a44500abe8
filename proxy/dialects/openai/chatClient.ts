import { usageJson } from '../../../contract/money/openaiUsage.ts'
import type { AnswerContext } from '../shared/codec.ts'
import type { Message, ToolCall } from '../shared/message.ts'
import type { ClientSide } from '../shared/translate.ts'
import { OpenaiWriter } from './openaiWriter.ts'

/** Clients of chat completions whose provider speaks another dialect. */
export const chatClient: ClientSide = {
  writer: ({ requestId, model, startedAtMs, request }) =>
    new OpenaiWriter(requestId, model.id, startedAtMs, request.includeUsage),
  head: completionHead,
  usage: usageJson,
}

function completionHead(message: Message, context: AnswerContext): string {
  const { requestId, model, startedAtMs } = context
  const choice = { index: 0, message: saidBy(message), logprobs: null, finish_reason: message.finish }
  return (
    `{"id":"${requestId}","object":"chat.completion","created":${Math.floor(startedAtMs / 1000)}` +
    `,"model":${JSON.stringify(model.id)},"choices":[${JSON.stringify(choice)}]`
  )
}

function saidBy({ text, reasoning, refusal, toolCalls }: Message): object {
  return {
    role: 'assistant',
    content: text === '' && toolCalls.length > 0 ? null : text,
    refusal: refusal === '' ? null : refusal,
    ...(reasoning === '' ? {} : { reasoning_content: reasoning }),
    ...(toolCalls.length === 0 ? {} : { tool_calls: toolCalls.map(callOf) }),
  }
}

function callOf({ id, name, arguments: text }: ToolCall): object {
  return { id, type: 'function', function: { name, arguments: text } }
}
