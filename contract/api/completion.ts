import type { TokenUsage } from '../money/charge.ts'
import { usageJson } from '../money/openaiUsage.ts'
import { quoted } from '../money/quoted.ts'
import { isJsonObject, type JsonObject } from '../std/jsonObject.ts'
import { answerError } from './answerError.ts'
import { saidIn } from './saidText.ts'

/** A completion of the OpenAI dialect, parsed. */
export type Completion = JsonObject

/** The members of an answer that the gateway sets itself, replacing the provider's. */
const OWN_MEMBERS: ReadonlySet<string> = new Set(['id', 'object', 'model', 'usage', 'receipt'])

export interface CompletionIdentity {
  readonly requestId: string
  /** The public id of the model. */
  readonly modelId: string
  /** `chat.completion` or `text_completion`. */
  readonly object: string
}

/**
 * A provider's completion as the client gets it, as JSON text: under the gateway's id, model and usage.
 * @param receipt as JSON text, or '' for none
 */
export function completionText(
  answer: Completion,
  identity: CompletionIdentity,
  usage: TokenUsage,
  receipt: string,
): string {
  return completionHead(answer, identity) + answerEnd(usageJson(usage), receipt)
}

/** A completion without its usage, receipt and closing brace, which `answerEnd` adds. */
export function completionHead(answer: Completion, identity: CompletionIdentity): string {
  let text = identityText(identity)
  for (const name in answer) {
    if (!OWN_MEMBERS.has(name)) text += `,${quoted(name)}:${JSON.stringify(answer[name])}`
  }
  return text
}

/** The beginning of a completion: the members that say what it is the answer to. */
export function identityText({ requestId, modelId, object }: CompletionIdentity): string {
  return `{"id":"${requestId}","object":"${object}","model":${quoted(modelId)}`
}

/** The last members of an answer, with its closing brace. @param receipt as JSON text, or '' for none */
export function answerEnd(usage: string, receipt: string): string {
  return `,"usage":${usage}${receipt === '' ? '' : `,"receipt":${receipt}`}}`
}

/** Whether an answer of status 200 is an error or has no choices. */
export function isErrorAnswer(answer: Completion): boolean {
  return answerError(answer) !== null || choicesOf(answer).length === 0
}

/** The choices of a completion that are objects. */
export function choicesOf(answer: Completion): Completion[] {
  return Array.isArray(answer['choices']) ? answer['choices'].filter(isJsonObject) : []
}

/** UTF-8 bytes of the model's output. */
export function outputBytes(answer: Completion): number {
  let bytes = 0
  for (const { text, message } of choicesOf(answer)) {
    bytes += textBytes(text)
    if (!isJsonObject(message)) continue
    const said = saidIn(message)
    bytes += textBytes(said.text) + textBytes(said.reasoning) + textBytes(said.refusal)
    for (const written of toolCallTexts(message['tool_calls'])) bytes += Buffer.byteLength(written)
  }
  return bytes
}

/** The text that the model wrote into the tool calls of a message: names and arguments, without the JSON around them. */
export function toolCallTexts(calls: unknown): string[] {
  if (!Array.isArray(calls)) return []
  const texts: string[] = []
  for (const call of calls) {
    if (!isJsonObject(call)) continue
    const said = isJsonObject(call['function']) ? call['function'] : call
    for (const member of [said['name'], said['arguments'], said['input']]) {
      if (typeof member === 'string') texts.push(member)
      else if (isJsonObject(member)) texts.push(JSON.stringify(member))
    }
  }
  return texts
}

/** UTF-8 bytes of a value as JSON; 0 for null and undefined. */
export function jsonBytes(value: unknown): number {
  return value === undefined || value === null ? 0 : Buffer.byteLength(JSON.stringify(value))
}

/** UTF-8 bytes of a string; 0 for anything else. */
export function textBytes(value: unknown): number {
  return typeof value === 'string' ? Buffer.byteLength(value) : 0
}
