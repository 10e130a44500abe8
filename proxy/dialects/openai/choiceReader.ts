import { callPieces } from '../../../contract/api/callPiece.ts'
import { type FinishReason, givenReason } from '../../../contract/api/finishReason.ts'
import { saidIn } from '../../../contract/api/saidText.ts'
import { isJsonObject, type JsonObject } from '../../../contract/std/jsonObject.ts'
import type { MessageSink } from '../shared/message.ts'
import { CallReader } from './callReader.ts'

/** The text of a stream whose chunks have messages in place of deltas. */
interface Growing {
  text: string
  /** Each message repeats those before it; undefined until that shows. */
  isCumulative: boolean | undefined
}

/**
 * Reads the choices of a stream of the OpenAI dialect, whatever its provider makes of the format: the one set of rules for
 * the clients of all formats.
 */
export class ChoiceReader {
  readonly calls: CallReader
  /** Deltas have had text, reasoning or a refusal. */
  hasSaid = false
  /** The provider reports a failure, or the calls cannot be distinguished. */
  broken = false
  /** Of a failure, if the choice has one. */
  error: unknown = null
  /** The reason why the message ends, once it is known: the first, or the first that is more than `stop`. */
  finish: FinishReason | null = null
  private readonly texts: Growing = { text: '', isCumulative: undefined }
  private readonly thoughts: Growing = { text: '', isCumulative: undefined }

  /** @param requestId for the ids of calls that have none */
  constructor(requestId: string) {
    this.calls = new CallReader(requestId)
  }

  /** Nothing has been passed on. */
  get isSilent(): boolean {
    return !this.hasSaid && this.texts.text === '' && this.thoughts.text === '' && this.calls.count === 0
  }

  /** Reads the next choice of the stream; look at `broken` afterwards. */
  read(choice: JsonObject, sink: MessageSink): void {
    const { delta, message } = choice
    const says = isJsonObject(delta) && this.readDelta(delta, sink)
    if (!says && isJsonObject(message)) this.readMessage(message, sink)
    else if (!says && typeof choice['text'] === 'string') this.readDelta({ content: choice['text'] }, sink)
    this.readReason(choice, sink)
  }

  /** The stream has ended: passes on the held text. */
  close(sink: MessageSink): void {
    if (!this.calls.close(sink)) this.broken = true
  }

  /** @returns whether the delta holds anything */
  private readDelta(delta: JsonObject, sink: MessageSink): boolean {
    const { text, reasoning, refusal } = saidIn(delta)
    if (reasoning !== '') sink.reasoning(reasoning)
    if (text !== '') sink.text(text)
    if (refusal !== '') sink.refusal(refusal)
    const says = text !== '' || reasoning !== '' || refusal !== ''
    if (says) this.hasSaid = true
    const pieces = callPieces(delta)
    if (pieces.length > 0 && !this.calls.take(pieces, sink)) this.broken = true
    return says || pieces.length > 0
  }

  // A message after deltas is all of them once more.
  private readMessage(message: JsonObject, sink: MessageSink): void {
    if (!this.hasSaid) {
      const { text, reasoning, refusal } = saidIn(message)
      const thought = added(this.thoughts, reasoning)
      if (thought !== '') sink.reasoning(thought)
      const words = added(this.texts, text)
      if (words !== '') sink.text(words)
      if (refusal !== '') sink.refusal(refusal)
    }
    const pieces = callPieces(message).slice(this.calls.begun)
    if (pieces.length > 0 && !this.calls.take(pieces, sink)) this.broken = true
  }

  private readReason(choice: JsonObject, sink: MessageSink): void {
    const reason = givenReason(choice['finish_reason'])
    if (reason === null) return
    this.close(sink)
    if (this.broken) return
    if (reason === 'error') {
      this.error = choice['error'] ?? null
      this.broken = true
    } else if (this.finish === null || (this.finish === 'stop' && reason !== 'stop')) {
      this.finish = reason
      sink.ends(reason)
    }
  }
}

/** The text that a message adds to those before it. */
function added(grown: Growing, text: string): string {
  if (text === '' || text === grown.text) return ''
  if (grown.text !== '') grown.isCumulative ??= text.startsWith(grown.text)
  const isMore = grown.isCumulative === true && text.startsWith(grown.text)
  const more = isMore ? text.slice(grown.text.length) : text
  grown.text = isMore ? text : grown.text + text
  return more
}
