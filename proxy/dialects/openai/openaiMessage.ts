import { isErrorAnswer, outputBytes } from '../../../contract/api/completion.ts'
import { usageBounds } from '../../../contract/money/openaiUsage.ts'
import { usageOfAnswer } from '../../../contract/money/usageReports.ts'
import { isJsonObject, type JsonObject } from '../../../contract/std/jsonObject.ts'
import type { AnswerJson } from '../../json/answerJson.ts'
import { refusalOfError } from '../../upstream/providerErrors.ts'
import type { Rejected } from '../../upstream/refusal.ts'
import type { AnswerContext } from '../shared/codec.ts'
import type { Message, ToolCall } from '../shared/message.ts'
import { finishReason } from './openaiReader.ts'

/** Reads a chat completion into a message for a client that speaks another format. */
export function readOpenaiMessage(body: AnswerJson, context: AnswerContext): Message | Rejected {
  const { model, limits } = context
  const answer = body.parse(limits)
  if (answer === null || isErrorAnswer(answer)) return { rejected: refusalOfError(answer?.['error']) }
  const [choice] = answer['choices'] as unknown[]
  const said = isJsonObject(choice) && isJsonObject(choice['message']) ? choice['message'] : {}
  const toolCalls = readCalls(said['tool_calls'])
  return {
    text: textOf(said['content']),
    reasoning: textOf(said['reasoning_content'] ?? said['reasoning']),
    refusal: textOf(said['refusal']),
    toolCalls,
    finish: finishReason(isJsonObject(choice) ? choice['finish_reason'] : undefined),
    usage: usageOfAnswer(answer, usageBounds(model.context, model.maxOutput)),
    outputBytes: outputBytes(answer),
  }
}

function readCalls(calls: unknown): ToolCall[] {
  if (!Array.isArray(calls)) return []
  return calls.filter(isJsonObject).map((call: JsonObject) => {
    const said = isJsonObject(call['function']) ? call['function'] : {}
    return { id: textOf(call['id']), name: textOf(said['name']), arguments: textOf(said['arguments']) }
  })
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : ''
}
