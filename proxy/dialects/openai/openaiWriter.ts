import type { TokenUsage } from '../../../contract/money/charge.ts'
import { usageJson } from '../../../contract/money/openaiUsage.ts'
import { errorEvent } from '../../sse/errorEvent.ts'
import { NOWHERE } from '../../sse/outBuffer.ts'
import type { FinishReason, MessageWriter } from '../shared/message.ts'
import type { StreamTail } from '../shared/relayStream.ts'
import { STREAM_END } from './chatStream.ts'

/** Writes a message as chat.completion.chunk events, for providers that speak another dialect. */
export class OpenaiWriter implements MessageWriter {
  out = NOWHERE

  private readonly head: string
  private readonly includeUsage: boolean
  private begun = false

  /** @param includeUsage the client asked for the chunk with usage */
  constructor(requestId: string, publicModel: string, startedAtMs: number, includeUsage: boolean) {
    const created = Math.floor(startedAtMs / 1000)
    this.head =
      `data: {"id":"${requestId}","object":"chat.completion.chunk","created":${created}` +
      `,"model":${JSON.stringify(publicModel)},"choices":[`
    this.includeUsage = includeUsage
  }

  text(piece: string): void {
    this.delta({ content: piece })
  }

  reasoning(piece: string): void {
    this.delta({ reasoning_content: piece })
  }

  refusal(piece: string): void {
    this.delta({ refusal: piece })
  }

  toolCall(index: number, id: string, name: string): void {
    this.delta({ tool_calls: [{ index, id, type: 'function', function: { name, arguments: '' } }] })
  }

  toolArguments(index: number, piece: string): void {
    this.delta({ tool_calls: [{ index, function: { arguments: piece } }] })
  }

  ends(reason: FinishReason): void {
    this.begin()
    this.chunk('{}', reason)
  }

  tail({ usage, fault, receipt }: StreamTail): string {
    const last = fault !== null ? errorEvent(fault) : this.includeUsage ? this.usageEvent(usage) : ''
    return last + (receipt === '' ? '' : `: receipt ${receipt}\n\n`) + STREAM_END
  }

  private delta(delta: object): void {
    this.begin()
    this.chunk(JSON.stringify(delta), null)
  }

  private begin(): void {
    if (this.begun) return
    this.begun = true
    this.chunk('{"role":"assistant","content":""}', null)
  }

  private chunk(delta: string, finish: FinishReason | null): void {
    const choice = `{"index":0,"delta":${delta},"logprobs":null,"finish_reason":${JSON.stringify(finish)}}`
    this.out.appendText(`${this.head}${choice}]${this.includeUsage ? ',"usage":null' : ''}}\n\n`)
  }

  private usageEvent(usage: TokenUsage): string {
    return `${this.head}],"usage":${usageJson(usage)}}\n\n`
  }
}
