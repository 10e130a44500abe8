import { answerError } from '../../../contract/api/answerError.ts'
import { usageBounds } from '../../../contract/money/openaiUsage.ts'
import { usageOfAnswer } from '../../../contract/money/usageReports.ts'
import type { JsonObject } from '../../../contract/std/jsonObject.ts'
import type { AnswerJson } from '../../json/answerJson.ts'
import { exactJson } from '../../json/exactJson.ts'
import { beginsEvents } from '../../sse/bodyKind.ts'
import { refusalOfError } from '../../upstream/providerErrors.ts'
import type { Rejected } from '../../upstream/refusal.ts'
import type { AnswerContext } from '../shared/codec.ts'
import type { Message, ToolCall } from '../shared/message.ts'
import { thoughtOf } from '../shared/thought.ts'
import { contentOf, isCall, repairedBlocks, withExactInputs } from './callBlocks.ts'
import { JoinedMessage } from './joinedMessage.ts'
import { finishOfStop, statedStop, unstatedStop } from './stopReasons.ts'

/**
 * A Messages answer in the form that the format's documentation has, also one that was sent as a stream, although none was
 * asked for; or the reason why the body is none.
 */
export function parseAnthropicAnswer(
  body: AnswerJson,
  { limits, requestId }: AnswerContext,
): { answer: JsonObject } | Rejected {
  let answer = body.parse(limits)
  if (answer === null && beginsEvents(body.bytes)) answer = new JoinedMessage(requestId).read(body.bytes, limits)
  if (answer === null) return { rejected: refusalOfError(null) }
  const error = answerError(answer)
  const content = contentOf(answer)
  const blocks = content && repairedBlocks(withExactInputs(content, body), requestId)
  const calls = blocks?.filter(isCall).length ?? 0
  const reason = statedStop(answer['stop_reason'], calls)
  if (error !== null || blocks === null || reason === 'error') return { rejected: refusalOfError(error) }
  if (reason === null && blocks.length === 0) return { rejected: refusalOfError(null) }
  return { answer: { stop_sequence: null, ...answer, content: blocks, stop_reason: reason ?? unstatedStop(calls) } }
}

/** Reads a Messages answer into a message for a client that speaks another format. */
export function readAnthropicMessage(body: AnswerJson, context: AnswerContext): Message | Rejected {
  const { model } = context
  const parsed = parseAnthropicAnswer(body, context)
  if ('rejected' in parsed) return parsed
  const { answer } = parsed
  const blocks = blocksIn(answer)
  return {
    text: textIn(blocks, 'text', 'text'),
    reasoning: textIn(blocks, 'thinking', 'thinking'),
    thoughts: blocks.map(thoughtOf).filter((thought) => thought !== null),
    refusal: '',
    toolCalls: blocks.filter((block) => block['type'] === 'tool_use').map(readCall),
    finish: finishOfStop(answer['stop_reason']),
    usage: usageOfAnswer(answer, usageBounds(model.context, model.maxOutput)),
    outputBytes: writtenBytes(blocks),
  }
}

/** The content of an answer. */
export function blocksIn(answer: JsonObject): JsonObject[] {
  return contentOf(answer) ?? []
}

/** UTF-8 bytes of the model's output. */
export function writtenBytes(blocks: readonly JsonObject[]): number {
  return blocks.reduce((bytes, block) => bytes + Buffer.byteLength(writtenIn(block)), 0)
}

/** The text that the model wrote into a block. */
export function writtenIn(block: JsonObject): string {
  if (block['type'] === 'tool_use') return `${textOf(block['name'])}${JSON.stringify(block['input'] ?? {})}`
  const text = block['text'] ?? block['thinking'] ?? block['data']
  return typeof text === 'string' ? text : ''
}

function textIn(blocks: readonly JsonObject[], type: string, member: string): string {
  return blocks.map((block) => (block['type'] === type ? textOf(block[member]) : '')).join('')
}

function readCall(block: JsonObject): ToolCall {
  const { id, name, input } = block
  return { id: textOf(id), name: textOf(name), arguments: exactJson(input ?? {}) }
}

/** A provider may send anything where a text belongs, and an object need not be one that becomes a text. */
function textOf(value: unknown): string {
  return typeof value === 'string' ? value : ''
}
