import {
  contentPeriod,
  TOOL_ID,
  TOOL_NAME,
  thinkingText,
  tokenText,
  toolArguments,
  wholeText,
  wholeThinking,
} from './content.ts'
import { answerId, eventText } from './events.ts'
import type { Behaviour } from './grammar.ts'
import type { AnswerPlan } from './plan.ts'
import type { ReportedUsage } from './usage.ts'
import { usageOf } from './usage.ts'

const STOP_REASONS: Readonly<Record<string, string>> = {
  stop: 'end_turn',
  length: 'max_tokens',
  tool_calls: 'tool_use',
}
const SIGNATURE = 'EqQBCgIYAhIkMockSignatureOfThinkingThatNobodyChecks=='
const PLANS_MAX = 1_000
const plans = new Map<string, MessagesPlan>()

/** The plan of a behaviour's streams in the Anthropic dialect, made once and shared by all of them. */
export function messagesPlanOf(behaviour: Behaviour): AnswerPlan {
  let plan = plans.get(behaviour.name)
  if (plan === undefined) {
    plan = new MessagesPlan(behaviour)
    if (plans.size >= PLANS_MAX) plans.clear()
    plans.set(behaviour.name, plan)
  }
  return plan
}

/** An answer in one piece in the Anthropic dialect. */
export function messagesAnswer(
  behaviour: Behaviour,
  echo: string | null,
  limit: { frames: number; finishReason: string },
  usage: ReportedUsage | null,
): { body: string; contentBytes: number } {
  const text = echo ?? wholeText(behaviour, limit.frames)
  const thinking = wholeThinking(behaviour)
  const content: object[] = thinking === '' ? [] : [{ type: 'thinking', thinking, signature: SIGNATURE }]
  if (behaviour.tool) content.push({ ...toolBlock(), input: parsedInput(text) })
  else content.push({ type: 'text', text })
  const message = { ...emptyMessage(behaviour), content, stop_reason: STOP_REASONS[limit.finishReason] }
  const reported = usage === null ? {} : { usage: anthropicUsage(usage) }
  return { body: JSON.stringify({ ...message, ...reported }), contentBytes: Buffer.byteLength(text) }
}

// max_tokens may have truncated the arguments; in a buffered answer the input is an object even then.
function parsedInput(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return {}
  }
}

function emptyMessage(behaviour: Behaviour): object {
  return {
    id: answerId(behaviour).replace('chatcmpl-', 'msg_'),
    type: 'message',
    role: 'assistant',
    model: behaviour.name,
    content: [],
    stop_reason: null,
    stop_sequence: null,
  }
}

function toolBlock(): object {
  return { type: 'tool_use', id: TOOL_ID, name: TOOL_NAME, input: {} }
}

/** A usage as the Anthropic dialect reports it: input_tokens without cache reads and writes. */
function anthropicUsage(usage: ReportedUsage): Record<string, unknown> {
  const {
    cached_tokens: read = 0,
    cache_write_tokens: written = 0,
    cache_write_1h_tokens: hour = 0,
  } = usage.prompt_tokens_details ?? {}
  const thinking = usage.completion_tokens_details?.reasoning_tokens
  return {
    input_tokens: usage.prompt_tokens - read - written,
    cache_creation_input_tokens: written,
    cache_read_input_tokens: read,
    cache_creation: { ephemeral_5m_input_tokens: written - hour, ephemeral_1h_input_tokens: hour },
    output_tokens: usage.completion_tokens,
    ...(thinking === undefined ? {} : { output_tokens_details: { thinking_tokens: thinking } }),
    service_tier: 'standard',
  }
}

/** The bytes of a behaviour's Messages streams. */
class MessagesPlan implements AnswerPlan {
  private readonly behaviour: Behaviour
  /** The index of the block that holds the content. */
  private readonly block: number
  private readonly period: number
  private readonly frames: Buffer[] = []
  /** Content bytes of the first i frames of a period. */
  private readonly bytesBefore: number[] = [0]

  constructor(behaviour: Behaviour) {
    this.behaviour = behaviour
    this.block = (behaviour.integers.thinking ?? 0) > 0 ? 1 : 0
    this.period = contentPeriod(behaviour)
    let bytes = 0
    for (let i = 0; i < this.period; i++) {
      const text = this.textOf(i)
      this.frames.push(i === behaviour.integers.badframe ? this.badFrame() : this.frame(text))
      bytes += Buffer.byteLength(text)
      this.bytesBefore.push(bytes)
    }
  }

  head(promptTokens: number): Buffer {
    const usage = this.startUsage(promptTokens)
    const message = { ...emptyMessage(this.behaviour), ...(usage === null ? {} : { usage }) }
    const content = this.behaviour.tool ? toolBlock() : { type: 'text', text: '' }
    return Buffer.concat([
      Buffer.from(this.behaviour.bom ? '\uFEFF' : ''),
      this.event('message_start', { message }),
      this.event('ping', {}),
      ...this.thinking(),
      this.event('content_block_start', { index: this.block, content_block: content }),
    ])
  }

  content(index: number, count: number): Buffer {
    if (count === 1) return this.frames[index % this.period] ?? Buffer.alloc(0)
    return Buffer.concat(Array.from({ length: count }, (_, i) => this.content(index + i, 1)))
  }

  contentWithUsage(index: number): Buffer {
    return this.content(index, 1)
  }

  contentBytes(frames: number): number {
    const whole = Math.floor(frames / this.period)
    return whole * (this.bytesBefore[this.period] ?? 0) + (this.bytesBefore[frames % this.period] ?? 0)
  }

  textFrame(text: string): Buffer {
    return this.frame(text)
  }

  end(finishReason: string, usage: ReportedUsage | null): Buffer {
    const { finish, done, usage: kind } = this.behaviour.words
    const parts = [this.event('content_block_stop', { index: this.block })]
    if (finish !== 'no') {
      const reported = usage === null ? {} : { usage: anthropicUsage(usage) }
      if (kind === 'twice' && usage !== null) {
        const half = { output_tokens: Math.floor(usage.completion_tokens / 2) }
        parts.push(this.event('message_delta', { delta: { stop_reason: null, stop_sequence: null }, usage: half }))
      }
      const delta = { stop_reason: STOP_REASONS[finishReason], stop_sequence: null }
      parts.push(this.event('message_delta', { delta, ...reported }))
    }
    if (done !== 'no') parts.push(this.event('message_stop', {}))
    return Buffer.concat(parts)
  }

  errorEnd(): Buffer {
    return this.event('error', { error: { type: 'overloaded_error', message: 'Overloaded' } })
  }

  private startUsage(promptTokens: number): Record<string, unknown> | null {
    const { words } = this.behaviour
    const asked = words.usage === 'start' ? { ...this.behaviour, words: {} } : this.behaviour
    const usage = usageOf(asked, promptTokens, 1)
    return usage === null ? null : { ...anthropicUsage(usage), output_tokens: Math.min(1, usage.completion_tokens) }
  }

  private thinking(): Buffer[] {
    const pieces = this.behaviour.integers.thinking ?? 0
    if (pieces === 0) return []
    const delta = (value: object) => this.event('content_block_delta', { index: 0, delta: value })
    return [
      this.event('content_block_start', {
        index: 0,
        content_block: { type: 'thinking', thinking: '', signature: '' },
      }),
      ...Array.from({ length: pieces }, (_, i) => delta({ type: 'thinking_delta', thinking: thinkingText(i) })),
      delta({ type: 'signature_delta', signature: SIGNATURE }),
      this.event('content_block_stop', { index: 0 }),
    ]
  }

  private textOf(index: number): string {
    const { behaviour } = this
    if (behaviour.tool) return toolArguments(behaviour, index)
    const text = tokenText(behaviour, index)
    const { bigevent } = behaviour.integers
    if (index > 0 || bigevent === undefined) return text
    return text + 'x'.repeat(Math.max(0, bigevent - this.frame(text).length))
  }

  private frame(text: string): Buffer {
    const delta = this.behaviour.tool ? { type: 'input_json_delta', partial_json: text } : { type: 'text_delta', text }
    return this.event('content_block_delta', { index: this.block, delta })
  }

  private badFrame(): Buffer {
    return Buffer.from(eventText(this.behaviour, '{"type":"content_block_delta","index":0,"del', 'content_block_delta'))
  }

  private event(type: string, members: object): Buffer {
    return Buffer.from(eventText(this.behaviour, JSON.stringify({ type, ...members }), type))
  }
}
