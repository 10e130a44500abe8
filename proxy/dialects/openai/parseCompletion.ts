import { answerError } from '../../../contract/api/answerError.ts'
import { type Completion, choicesOf, isErrorAnswer } from '../../../contract/api/completion.ts'
import type { FinishReason } from '../../../contract/api/finishReason.ts'
import { repairCompletion, repairTextCompletion } from '../../../contract/api/repairCompletion.ts'
import { reportsIn, UsageReports } from '../../../contract/money/usageReports.ts'
import { isJsonObject, type JsonObject, parseJsonObject } from '../../../contract/std/jsonObject.ts'
import type { AnswerJson } from '../../json/answerJson.ts'
import { beginsEvents } from '../../sse/bodyKind.ts'
import { dataKind, dataParts } from '../../sse/dataKind.ts'
import { FrameReader, type FrameSink } from '../../sse/frameReader.ts'
import { refusalOfError } from '../../upstream/providerErrors.ts'
import type { Rejected } from '../../upstream/refusal.ts'
import type { Citation } from '../shared/citation.ts'
import type { AnswerContext } from '../shared/codec.ts'
import type { MessageSink } from '../shared/message.ts'
import { ChoiceReader } from './choiceReader.ts'
import { boundsOf } from './openaiBounds.ts'

/**
 * Reads a provider's answer as a chat completion in the form that the format's documentation has; also one that was sent as
 * a stream, although none was asked for. Errors, empty answers and what cannot be read are returned as `Rejected`.
 */
export function parseCompletion(body: AnswerJson, context: AnswerContext): { answer: Completion } | Rejected {
  const { requestId, startedAtMs } = context
  return parseAnswer(body, context, (answer) => repairCompletion(answer, requestId, startedAtMs))
}

/** The same for a text completion, whose provider may answer with a chat. */
export function parseText(body: AnswerJson, context: AnswerContext): { answer: Completion } | Rejected {
  return parseAnswer(body, context, (answer) => repairTextCompletion(answer, context.startedAtMs))
}

/** @param repair puts the choices into their form; false for an answer that is none */
function parseAnswer(
  body: AnswerJson,
  context: AnswerContext,
  repair: (answer: Completion) => boolean,
): { answer: Completion } | Rejected {
  const { limits } = context
  let answer = body.parse(limits)
  if (answer === null && beginsEvents(body.bytes)) answer = new JoinedEvents(context).read(body.bytes, limits)
  if (answer === null || isErrorAnswer(answer)) return { rejected: refusalOfError(answer && answerError(answer)) }
  return repair(answer) ? { answer } : { rejected: refusalOfError(failureIn(answer)) }
}

/** The failure that the first choice states, if any. */
function failureIn(answer: Completion): unknown {
  const [choice] = answer['choices'] as unknown[]
  return isJsonObject(choice) ? (choice['error'] ?? null) : null
}

/** Joins the chunks of a stream to the completion that they are pieces of. */
class JoinedEvents implements FrameSink, MessageSink {
  private readonly choices: ChoiceReader
  private readonly said = { content: '', reasoning_content: '', refusal: '' }
  private readonly calls: { id: string; name: string; arguments: string; extra: JsonObject | null }[] = []
  private readonly cited: Citation[] = []
  private reason: FinishReason | null = null
  private head: JsonObject = {}
  private readonly reports: UsageReports
  /** The counts of the reports that count, as the provider states them. */
  private usage: JsonObject | null = null
  private error: unknown = null
  private hasChoice = false
  private ended = false
  private broken = false

  constructor(context: AnswerContext) {
    this.choices = new ChoiceReader(context.requestId, context.limits, false)
    this.reports = new UsageReports(boundsOf(context))
  }

  /** @returns null when the bytes are no stream that ended well */
  read(bytes: Buffer, limits: AnswerContext['limits']): Completion | null {
    const frames = new FrameReader(limits)
    const isWithin = frames.push(bytes, this)
    if (isWithin) frames.finish(this)
    this.choices.close(this)
    if (this.error !== null) return { error: this.error }
    const isPaid = this.hasChoice && isJsonObject(this.usage)
    const isWhole = this.reason !== null || (this.ended && (this.choices.hasSaid || isPaid))
    if (!isWithin || this.broken || this.choices.broken || !isWhole) return null
    return {
      ...this.head,
      choices: [{ index: 0, message: this.message(), finish_reason: this.reason }],
      usage: this.usage,
    }
  }

  onData(bytes: Buffer, start: number, end: number, lines: number): void {
    for (const [from, to] of dataParts(bytes, start, end, lines)) {
      const kind = dataKind(bytes, from, to)
      if (kind === 'end') this.ended = true
      else if (kind === 'nothing') continue
      else if (!this.ended) this.readChunk(bytes.toString('utf8', from, to))
      // Some providers report usage after the end that they have stated.
      else if (this.usage === null) this.noteUsage(parseJsonObject(bytes.toString('utf8', from, to)) ?? {})
    }
  }

  onComment(): void {}

  text(piece: string): void {
    this.said.content += piece
  }

  reasoning(piece: string): void {
    this.said.reasoning_content += piece
  }

  refusal(piece: string): void {
    this.said.refusal += piece
  }

  toolCall(_index: number, id: string, name: string, extra: JsonObject | null = null): void {
    this.calls.push({ id, name, arguments: '', extra })
  }

  toolArguments(index: number, piece: string): void {
    const call = this.calls[index]
    if (call !== undefined) call.arguments += piece
  }

  cites(citation: Citation): void {
    this.cited.push(citation)
  }

  ends(reason: FinishReason): void {
    this.reason = reason
  }

  private readChunk(text: string): void {
    const chunk = parseJsonObject(text)
    if (chunk === null) {
      this.broken ||= this.reason === null
      return
    }
    const {
      choices: _choices,
      usage: _usage,
      x_groq: _aside,
      error: _error,
      id: _id,
      object: _object,
      model: _model,
      ...head
    } = chunk
    this.error ??= answerError(chunk)
    this.noteUsage(chunk)
    this.head = { ...head, ...this.head }
    const [choice] = choicesOf(chunk)
    if (choice !== undefined) {
      this.hasChoice = true
      this.choices.read(choice, this)
    }
    this.error ??= this.choices.error
  }

  private noteUsage(chunk: JsonObject): void {
    for (const report of reportsIn(chunk)) {
      const { current } = this.reports
      this.reports.note(report)
      if (this.reports.current !== current) this.usage = { ...this.usage, ...(report as JsonObject) }
    }
  }

  private message(): JsonObject {
    const { content, reasoning_content, refusal } = this.said
    const annotations = this.cited.map(({ type, ...cited }) => ({ type, url_citation: cited }))
    const calls = this.calls.map(({ id, extra, ...said }) => ({ ...extra, id, type: 'function', function: said }))
    return {
      role: 'assistant',
      content: content === '' && calls.length > 0 ? null : content,
      ...(refusal === '' ? {} : { refusal }),
      ...(reasoning_content === '' ? {} : { reasoning_content }),
      ...(annotations.length === 0 ? {} : { annotations }),
      ...(calls.length === 0 ? {} : { tool_calls: calls }),
    }
  }
}
