import { saysSomething } from '../../../contract/api/answerError.ts'
import { callPieces } from '../../../contract/api/callPiece.ts'
import { type FinishReason, givenReason } from '../../../contract/api/finishReason.ts'
import { type Said, saidIn } from '../../../contract/api/saidText.ts'
import { isJsonObject, type JsonObject } from '../../../contract/std/jsonObject.ts'
import type { CallBounds } from '../limits.ts'
import type { MessageSink } from '../shared/message.ts'
import { CallReader } from './callReader.ts'
import { CitationReader } from './citationReader.ts'
import { HeldText } from './repeatedText.ts'

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
  readonly citations: CitationReader
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
  private readonly heldText = new HeldText()
  private readonly heldThought = new HeldText()

  private readonly mayGoOn: boolean

  /**
   * @param requestId for the ids of calls that have none
   * @param mayGoOn the client takes more after any reason, and fills in empty arguments
   */
  constructor(requestId: string, bounds: CallBounds, mayGoOn: boolean) {
    this.mayGoOn = mayGoOn
    this.citations = new CitationReader(bounds.citationsMax)
    this.calls = new CallReader(requestId, bounds)
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
    if (sink.cites !== undefined)
      for (const said of [delta, message]) if (isJsonObject(said)) this.citations.read(said, sink)
    this.readReason(choice, sink)
  }

  /** The stream has ended: held text is a repetition, and what is held of calls is passed on. */
  close(sink: MessageSink): void {
    this.dropHeld()
    this.citations.close(sink)
    this.closeCalls(sink, this.mayGoOn)
  }

  private closeCalls(sink: MessageSink, mayGoOn: boolean): void {
    if (!this.calls.close(sink, mayGoOn)) this.broken = true
  }

  /** @returns whether the delta holds anything */
  private readDelta(delta: JsonObject, sink: MessageSink): boolean {
    const said = saidIn(delta)
    const pieces = callPieces(delta)
    const says = said.text !== '' || said.reasoning !== '' || said.refusal !== ''
    if (says || pieces.length > 0) this.say(said, pieces.length > 0, sink)
    if (says) this.hasSaid = true
    if (pieces.length > 0 && !this.calls.take(pieces, sink)) this.broken = true
    return says || pieces.length > 0
  }

  /** Passes on what a delta says, and before that what was held. Reasoning ends with the first output of another kind. */
  private say({ text, reasoning, refusal }: Said, hasCalls: boolean, sink: MessageSink): void {
    const { heldText, heldThought } = this
    if (reasoning === '') heldThought.drop()
    const thoughtBefore = heldThought.release()
    if (thoughtBefore !== '') sink.reasoning(thoughtBefore)
    const isNewThought = reasoning !== '' && !heldThought.holds(reasoning)
    const textBefore = isNewThought || text !== '' || refusal !== '' || hasCalls ? heldText.release() : ''
    if (textBefore !== '') sink.text(textBefore)
    if (isNewThought) sink.reasoning(reasoning)
    if (text !== '' && !heldText.holds(text)) sink.text(text)
    if (refusal !== '') sink.refusal(refusal)
    if (hasCalls) this.dropHeld()
  }

  private dropHeld(): void {
    this.heldText.drop()
    this.heldThought.drop()
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
    const { error } = choice
    // OpenRouter states the failure of a choice in it, whatever its reason.
    if (saysSomething(error)) {
      this.error = error
      this.broken = true
      return
    }
    const reason = givenReason(choice['finish_reason'])
    if (reason === null) return
    // Some providers give it after every chunk, and it is not the reason that calls have.
    this.closeCalls(sink, this.mayGoOn || reason === 'stop')
    if (this.broken) return
    if (reason === 'error') this.broken = true
    else if (this.finish === null || (this.finish === 'stop' && reason !== 'stop')) {
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
