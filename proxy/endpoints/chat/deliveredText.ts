import { choicesOf, toolCallTexts } from '../../../contract/api/completion.ts'
import { saidIn } from '../../../contract/api/saidText.ts'
import { isJsonObject, type JsonObject, parseJsonObject } from '../../../contract/std/jsonObject.ts'
import { HeldText } from '../../dialects/openai/repeatedText.ts'
import { type EventBounds, FrameReader, type FrameSink } from '../../sse/frameReader.ts'
import type { ChatLimits } from './limits.ts'

/** The members of a content block that carry output besides the texts that both dialects have. */
const MEMBERS = ['partial_json', 'name']

/**
 * The output that a registered provider has delivered in a stream, of any kind and in any choice: the gateway counts its tokens,
 * because the provider's report is not evidence. It reads in parallel to the relay.
 */
export class DeliveredText implements FrameSink {
  text = ''
  private readonly frames: FrameReader
  private readonly heldText = new HeldText()
  private readonly heldThought = new HeldText()
  /** Output beyond it is not counted, in UTF-16 code units. */
  private readonly charactersMax: number

  constructor(limits: EventBounds & Pick<ChatLimits, 'countCharactersMax' | 'eventParsedBytesMax'>) {
    this.frames = new FrameReader({ ...limits, eventBytesMax: limits.eventParsedBytesMax })
    this.charactersMax = limits.countCharactersMax
  }

  /** Reads the next bytes of the stream; output of an event beyond the bound is not counted. */
  push(bytes: Buffer): void {
    this.frames.push(bytes, this)
  }

  onData(bytes: Buffer, start: number, end: number): void {
    if (this.text.length > this.charactersMax) return
    const event = parseJsonObject(bytes.toString('utf8', start, end))
    if (event === null) return
    for (const choice of choicesOf(event)) this.take(choice)
    this.take(event)
  }

  onComment(): void {}

  private take(holder: JsonObject): void {
    const { text, delta, content_block: block } = holder
    if (typeof text === 'string') this.say(text, this.heldText)
    for (const part of [delta, block]) {
      if (!isJsonObject(part)) continue
      const { text: words, reasoning, refusal } = saidIn(part)
      this.say(reasoning, this.heldThought)
      this.say(words, this.heldText)
      this.text += refusal
      for (const name of MEMBERS) {
        const value = part[name]
        if (typeof value === 'string') this.text += value
      }
      this.text += toolCallTexts(part['tool_calls']).join('')
    }
  }

  // A last piece that repeats all before it reaches no client.
  private say(piece: string, held: HeldText): void {
    if (piece === '') return
    this.text += held.release()
    if (!held.holds(piece)) this.text += piece
  }
}
