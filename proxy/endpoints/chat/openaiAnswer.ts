import type { TokenUsage } from '../../../control/contract/charge.ts'
import { nestsDeeper } from '../../relay/jsonDepth.ts'
import { isObject, type JsonObject } from '../../relay/jsonObject.ts'
import { readUsage, usageBounds, usageJson } from '../../relay/usage.ts'
import { refusalOfError } from '../../upstream/dialects/openaiErrors.ts'
import type { AnswerContext, Rejected, WholeAnswer } from './codec.ts'
import { jsonBytes, textBytes } from './text.ts'

/** What the gateway itself says of an answer, whatever the provider said. */
const OWN_MEMBERS: ReadonlySet<string> = new Set(['id', 'object', 'model', 'usage', 'receipt'])

/** A completion of a provider of the OpenAI dialect, for a client that speaks the same. */
class OpenaiAnswer implements WholeAnswer {
  readonly usage: TokenUsage | null
  readonly outputBytes: number
  private readonly answer: JsonObject
  private readonly context: AnswerContext
  private readonly object: string

  constructor(answer: JsonObject, context: AnswerContext, object: string) {
    const { model } = context
    this.answer = answer
    this.context = context
    this.object = object
    this.usage = readUsage(answer['usage'], usageBounds(model.context, model.maxOutput))
    this.outputBytes = outputBytes(answer)
  }

  text(billed: TokenUsage, receipt: string): string {
    const { requestId, model } = this.context
    const { answer, object } = this
    let text = `{"id":"${requestId}","object":"${object}","model":${JSON.stringify(model.id)}`
    for (const name in answer) {
      if (!OWN_MEMBERS.has(name)) text += `,${JSON.stringify(name)}:${JSON.stringify(answer[name])}`
    }
    return `${text},"usage":${usageJson(billed)}${receipt === '' ? '' : `,"receipt":${receipt}`}}`
  }
}

/** Reads a chat completion; an error, an empty one and what is no JSON are refusals. */
export function readOpenaiAnswer(body: Buffer, context: AnswerContext): WholeAnswer | Rejected {
  const answer = parseCompletion(body, context.limits.jsonDepthMax)
  if (answer === null || isErrorAnswer(answer)) return { rejected: refusalOfError(answer?.['error']) }
  return new OpenaiAnswer(answer, context, 'chat.completion')
}

/**
 * Reads a text completion like a chat completion.
 * @param preface is put before the text of the answer, and is none of the output
 */
export function readTextAnswer(body: Buffer, context: AnswerContext, preface: string): WholeAnswer | Rejected {
  const answer = parseCompletion(body, context.limits.jsonDepthMax)
  if (answer === null || isErrorAnswer(answer)) return { rejected: refusalOfError(answer?.['error']) }
  const read = new OpenaiAnswer(answer, context, 'text_completion')
  for (const choice of choicesOf(answer)) {
    choice['text'] = preface + String(choice['text'] ?? '')
    choice['logprobs'] ??= null
  }
  return read
}

/** A JSON object, or null for what is none. */
export function parseCompletion(body: Buffer, depthMax: number): JsonObject | null {
  if (nestsDeeper(body, depthMax)) return null
  try {
    const parsed: unknown = JSON.parse(body.toString('utf8'))
    return isObject(parsed) ? parsed : null
  } catch {
    return null
  }
}

/** UTF-8 bytes of what the model wrote. */
export function outputBytes(answer: JsonObject): number {
  let bytes = 0
  for (const { text, message } of choicesOf(answer)) {
    bytes += textBytes(text)
    if (!isObject(message)) continue
    bytes += textBytes(message['content']) + textBytes(message['reasoning_content']) + jsonBytes(message['tool_calls'])
  }
  return bytes
}

function choicesOf(answer: JsonObject): JsonObject[] {
  return Array.isArray(answer['choices']) ? answer['choices'].filter(isObject) : []
}

/** Whether an answer of status 200 is an error or has no choices. */
export function isErrorAnswer(answer: JsonObject): boolean {
  if (answer['error'] !== undefined && answer['error'] !== null) return true
  return !Array.isArray(answer['choices']) || answer['choices'].length === 0
}
