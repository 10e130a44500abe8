import { choicesOf } from '../../../contract/api/completion.ts'
import { type FinishReason, reasonWithCalls } from '../../../contract/api/finishReason.ts'
import { REASONING_NAMES, TEXT_NAMES } from '../../../contract/api/saidText.ts'
import { isJsonObject, type JsonObject } from '../../../contract/std/jsonObject.ts'
import type { CallBounds } from '../limits.ts'
import type { MessageSink } from '../shared/message.ts'
import { ChoiceReader } from './choiceReader.ts'

/** The members of a delta that are written anew. Details of reasoning have what clients send back. */
const READ_NAMES: ReadonlySet<string> = new Set(
  [...TEXT_NAMES, ...REASONING_NAMES, 'refusal', 'tool_calls', 'function_call'].filter(
    (name) => name !== 'reasoning_details',
  ),
)

/** Writes chunks of a stream anew, in the form that the format's documentation has, where the provider's are not. */
export class ChunkRepair implements MessageSink {
  readonly choices: ChoiceReader
  /** UTF-8 bytes of the output in the chunk that was written last. */
  outputBytes = 0

  private content = ''
  private thoughts = ''
  private refused = ''
  private calls: JsonObject[] = []
  private reason: FinishReason | null = null
  /** The client has got the role of the message. */
  hasRole = false
  /** The reason is the client's once its calls are whole. */
  owesReason = false

  /** @param requestId for the ids of calls that have none */
  constructor(requestId: string, bounds: CallBounds) {
    this.choices = new ChoiceReader(requestId, bounds, false)
  }

  /**
   * Reads a chunk; look at `choices.broken` afterwards.
   * @returns the members that replace the chunk's, besides its identity and usage, as JSON; '' when it says nothing more
   */
  repaired(chunk: JsonObject): string {
    const { choices: _choices, id: _id, object: _object, created: _created, model: _model, ...more } = chunk
    const { usage: _usage, error: _error, ...rest } = more
    const [choice, ...others] = choicesOf(chunk)
    if (choice === undefined) return ''
    this.clear()
    this.choices.read(choice, this)
    const written = this.choiceOf(choice)
    if (written === null && others.length === 0) return ''
    const said = JSON.stringify(rest).slice(1, -1)
    return `${said === '' ? '' : `${said},`}"choices":${JSON.stringify(written === null ? others : [written, ...others])}`
  }

  /** The stream has ended. @returns the members of a chunk with what the client lacks of the calls */
  closing(): string {
    this.clear()
    this.choices.close(this)
    if (this.owesReason || this.calls.length > 0) this.reason = this.choices.finish
    const written = this.choiceOf({ index: 0, logprobs: null })
    return `"choices":${JSON.stringify(written === null ? [] : [written])}`
  }

  /** The members of the last chunk of a stream whose provider gives no reason. */
  ending(): string {
    const reason = reasonWithCalls('stop', this.choices.calls.count)
    const delta = this.hasRole ? '{}' : '{"role":"assistant","content":""}'
    return `"choices":[{"index":0,"delta":${delta},"logprobs":null,"finish_reason":"${reason}"}]`
  }

  text(piece: string): void {
    this.content += piece
    this.count(piece)
  }

  reasoning(piece: string): void {
    this.thoughts += piece
    this.count(piece)
  }

  refusal(piece: string): void {
    this.refused += piece
    this.count(piece)
  }

  toolCall(index: number, id: string, name: string, extra: JsonObject | null = null): void {
    this.calls.push({ ...extra, index, id, type: 'function', function: { name, arguments: '' } })
    this.count(name)
  }

  toolArguments(index: number, piece: string): void {
    this.count(piece)
    const said = this.calls.find((call) => call['index'] === index)?.['function']
    if (isJsonObject(said)) said['arguments'] = `${String(said['arguments'])}${piece}`
    else this.calls.push({ index, function: { arguments: piece } })
  }

  ends(reason: FinishReason): void {
    this.reason = reason
  }

  private clear(): void {
    this.content = this.thoughts = this.refused = ''
    this.calls = []
    this.reason = null
    this.outputBytes = 0
  }

  private count(piece: string): void {
    this.outputBytes += Buffer.byteLength(piece)
  }

  /** The choice as the client gets it; null when it says nothing that the client does not have. */
  private choiceOf(choice: JsonObject): JsonObject | null {
    const { delta, message, text: _text, finish_reason: _reason, index, ...rest } = choice
    const source = isJsonObject(delta) ? delta : isJsonObject(message) ? message : {}
    const written = this.deltaOf(source)
    const isNothing = Object.keys(written).every((name) => name === 'role' || written[name] === '')
    const reason = this.reasonNow()
    if (isNothing && reason === null && (!('role' in written) || this.hasRole)) return null
    if (!this.hasRole) written['role'] = 'assistant'
    this.hasRole = true
    return { index: typeof index === 'number' ? index : 0, delta: written, ...rest, finish_reason: reason }
  }

  /** Calls after the reason change it, and more of them may follow. */
  private reasonNow(): FinishReason | null {
    const { calls, finish } = this.choices
    if (this.reason === null) {
      if (this.calls.length > 0 && finish !== null) this.owesReason = true
      return null
    }
    this.owesReason = calls.isPending
    return this.owesReason ? null : reasonWithCalls(this.reason, calls.count)
  }

  private deltaOf(source: JsonObject): JsonObject {
    const written: JsonObject = {}
    for (const name in source) if (!READ_NAMES.has(name)) written[name] = source[name]
    if (source['role']) written['role'] = 'assistant'
    else delete written['role']
    if (this.content !== '' || source['content'] === '') written['content'] = this.content
    // Under the name that the provider's other chunks have.
    const isShort = typeof source['reasoning'] === 'string' && typeof source['reasoning_content'] !== 'string'
    if (this.thoughts !== '') written[isShort ? 'reasoning' : 'reasoning_content'] = this.thoughts
    if (this.refused !== '') written['refusal'] = this.refused
    if (this.calls.length > 0) written['tool_calls'] = this.calls
    return written
  }
}
