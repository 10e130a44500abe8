import { answerEnd, choicesOf, completionHead, outputBytes, toolCallTexts } from '../../../contract/api/completion.ts'
import { saidIn } from '../../../contract/api/saidText.ts'
import type { TokenUsage } from '../../../contract/money/charge.ts'
import { usageJson } from '../../../contract/money/openaiUsage.ts'
import { type ReportedUsage, usageOfAnswer } from '../../../contract/money/usageReports.ts'
import { isJsonObject, type JsonObject } from '../../../contract/std/jsonObject.ts'
import type { AnswerJson } from '../../json/answerJson.ts'
import type { Rejected } from '../../upstream/refusal.ts'
import type { AnswerContext, WholeAnswer } from '../shared/codec.ts'
import { boundsOf } from './openaiBounds.ts'
import { parseCompletion, parseText } from './parseCompletion.ts'
import { readPlainAnswer } from './plainAnswer.ts'

/** A completion of a provider of the OpenAI dialect, for a client that speaks the same. */
class OpenaiAnswer implements WholeAnswer {
  readonly usage: ReportedUsage | null
  readonly outputBytes: number
  private readonly body: AnswerJson
  private readonly answer: JsonObject
  private readonly context: AnswerContext
  private readonly object: string
  /** The text that the model wrote, if the answer contains more than that. */
  private said: string | undefined

  constructor(body: AnswerJson, answer: JsonObject, context: AnswerContext, object: string) {
    this.body = body
    this.answer = answer
    this.context = context
    this.object = object
    this.usage = usageOfAnswer(answer, boundsOf(context))
    this.outputBytes = outputBytes(answer)
  }

  written(): string {
    return this.said ?? writtenText(this.answer)
  }

  /** Puts a text before the answer's own; it does not count as output. */
  prefix(preface: string): void {
    if (preface !== '') this.said = writtenText(this.answer)
    for (const choice of choicesOf(this.answer)) choice['text'] = preface + String(choice['text'])
  }

  head(): string | Buffer {
    const { requestId, model } = this.context
    const identity = { requestId, modelId: model.id, object: this.object }
    return this.body.fill(completionHead(this.answer, identity))
  }
}

/** The end of an answer in the OpenAI dialect; see ChatCodec. */
export function openaiEnd(billed: TokenUsage, receipt: string): string {
  return answerEnd(usageJson(billed), receipt)
}

/** Reads a chat completion; errors, empty answers and invalid JSON are returned as `Rejected`. */
export function readOpenaiAnswer(body: AnswerJson, context: AnswerContext): WholeAnswer | Rejected {
  const plain = body.cuts.length === 0 ? readPlainAnswer(body.bytes, context) : undefined
  if (plain !== undefined) return plain
  const parsed = parseCompletion(body, context)
  return 'rejected' in parsed ? parsed : new OpenaiAnswer(body, parsed.answer, context, 'chat.completion')
}

/**
 * Reads a text completion like a chat completion.
 * @param preface is put before the text of the answer, and does not count as output
 */
export function readTextAnswer(body: AnswerJson, context: AnswerContext, preface: string): WholeAnswer | Rejected {
  const parsed = parseText(body, context)
  if ('rejected' in parsed) return parsed
  const read = new OpenaiAnswer(body, parsed.answer, context, 'text_completion')
  read.prefix(preface)
  return read
}

function writtenText(answer: JsonObject): string {
  const written = choicesOf(answer).flatMap(({ text, message }) => {
    const said = isJsonObject(message) ? message : {}
    const { text: content, reasoning, refusal } = saidIn(said)
    return [text, reasoning, content, refusal, ...toolCallTexts(said['tool_calls'])]
  })
  return written.filter((text) => typeof text === 'string' && text !== '').join('\n')
}
