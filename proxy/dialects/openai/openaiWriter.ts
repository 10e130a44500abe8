import type { TokenUsage } from '../../../contract/money/charge.ts'
import { usageJson } from '../../../contract/money/openaiUsage.ts'
import type { JsonObject } from '../../../contract/std/jsonObject.ts'
import { errorEvent } from '../../sse/errorEvent.ts'
import { NOWHERE } from '../../sse/outBuffer.ts'
import { type ClientTool, clientTool } from '../shared/clientTools.ts'
import type { AnswerContext } from '../shared/codec.ts'
import { customInput } from '../shared/customTools.ts'
import { type FinishReason, type MessageWriter, NO_ARGUMENTS } from '../shared/message.ts'
import type { StreamTail } from '../shared/relayStream.ts'
import { calledTool } from './chatTools.ts'
import { STREAM_END } from './ownChunks.ts'

interface HeldCall {
  readonly tool: ClientTool
  text: string
}

/** Writes a message as chat.completion.chunk events, where those of the provider cannot go through. */
export class OpenaiWriter implements MessageWriter {
  out = NOWHERE

  private readonly head: string
  private readonly includeUsage: boolean
  private readonly tools: readonly ClientTool[] | undefined
  /** The arguments of calls that their client gets in one piece. */
  private readonly held = new Map<number, HeldCall>()
  /** Calls of functions whose arguments are empty so far. */
  private readonly bare = new Set<number>()
  private begun = false
  private finish: FinishReason | null = null

  constructor({ requestId, model, startedAtMs, request }: AnswerContext) {
    const created = Math.floor(startedAtMs / 1000)
    this.head =
      `data: {"id":"${requestId}","object":"chat.completion.chunk","created":${created}` +
      `,"model":${JSON.stringify(model.id)},"choices":[`
    this.includeUsage = request.includeUsage
    this.tools = request.tools
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

  toolCall(index: number, id: string, name: string, extra: JsonObject | null = null): void {
    const tool = clientTool(this.tools, name)
    if (tool.kind === 'custom') this.held.set(index, { tool, text: '' })
    else this.bare.add(index)
    this.delta({ tool_calls: [{ index, ...calledTool(tool, id, ''), ...extra }] })
  }

  toolArguments(index: number, piece: string): void {
    const held = this.held.get(index)
    this.bare.delete(index)
    if (held === undefined) this.delta({ tool_calls: [{ index, function: { arguments: piece } }] })
    else held.text += piece
  }

  ends(reason: FinishReason): void {
    this.begin()
    this.finish = reason
  }

  tail({ usage, fault, receipt }: StreamTail): string {
    const last = fault !== null ? errorEvent(fault) : this.ending() + (this.includeUsage ? this.usageEvent(usage) : '')
    return last + (receipt === '' ? '' : `: receipt ${receipt}\n\n`) + STREAM_END
  }

  /** The chunks that a message ends with, once nothing more of it can come. */
  private ending(): string {
    const rest = [...this.bare].map((index): JsonObject => ({ index, function: { arguments: NO_ARGUMENTS } }))
    for (const [index, { tool, text }] of this.held) {
      const input = customInput(text)
      rest.push({
        index,
        ...(tool.isCalledAsFunction === true ? { function: { arguments: input } } : { custom: { input } }),
      })
    }
    const chunks = rest.map((call) => this.chunk(JSON.stringify({ tool_calls: [call] }), null))
    return chunks.join('') + (this.finish === null ? '' : this.chunk('{}', this.finish))
  }

  private delta(delta: object): void {
    this.begin()
    this.out.appendText(this.chunk(JSON.stringify(delta), null))
  }

  private begin(): void {
    if (this.begun) return
    this.begun = true
    this.out.appendText(this.chunk('{"role":"assistant","content":""}', null))
  }

  private chunk(delta: string, finish: FinishReason | null): string {
    const choice = `{"index":0,"delta":${delta},"logprobs":null,"finish_reason":${JSON.stringify(finish)}}`
    return `${this.head}${choice}]${this.includeUsage ? ',"usage":null' : ''}}\n\n`
  }

  private usageEvent(usage: TokenUsage): string {
    return `${this.head}],"usage":${usageJson(usage)}}\n\n`
  }
}
