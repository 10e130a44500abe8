import {
  contentDelta,
  contentPeriod,
  reasoningMember,
  thinkingText,
  tokenText,
  toolArguments,
  toolDelta,
} from './content.ts'
import { azurePreamble, choiceChunk, chunkStart, eventText, type Kind, textChunk, usageChunk } from './events.ts'
import type { Behaviour } from './grammar.ts'
import { usageText, withMembers } from './quirks.ts'
import type { ReportedUsage } from './usage.ts'

/** The bytes of a behaviour's streams in one dialect. */
export interface AnswerPlan {
  /** Everything before the first content frame. */
  head(promptTokens: number): Buffer
  /** The bytes of `count` content frames from `index` on; `count` is at most the behaviour's batch. */
  content(index: number, count: number): Buffer
  /** Content frame `index` with usage on it, for providers that report it on every chunk. */
  contentWithUsage(index: number, usage: ReportedUsage): Buffer
  /** UTF-8 bytes of the content in the first `frames` content frames. */
  contentBytes(frames: number): number
  /** One content frame of any text, for answers that are made for a single request. */
  textFrame(text: string): Buffer
  /** Everything after the last content frame. */
  end(finishReason: string, usage: ReportedUsage | null, usageAsked: boolean): Buffer
  /** An error event inside the stream, and the bytes after it. */
  errorEnd(): Buffer
}

const PLANS_MAX = 1_000
const plans = new Map<string, StreamPlan>()

/** The plan of a behaviour's streams, made once and shared by all of them. */
export function planOf(behaviour: Behaviour, usageAsked: boolean, kind: Kind = 'chat'): StreamPlan {
  const key = `${kind} ${usageAsked ? 1 : 0} ${behaviour.name}`
  let plan = plans.get(key)
  if (plan === undefined) {
    plan = new StreamPlan(behaviour, usageAsked, kind)
    if (plans.size >= PLANS_MAX) plans.clear()
    plans.set(key, plan)
  }
  return plan
}

/** The bytes of a behaviour's streams, ready to write. */
class StreamPlan implements AnswerPlan {
  private readonly preface: Buffer
  readonly done: Buffer
  private readonly behaviour: Behaviour
  private readonly kind: Kind
  private readonly start: string
  /** The value of `usage` on ordinary chunks, as JSON text: null once usage was asked for, as at OpenAI. */
  private readonly ordinaryUsage: string | undefined
  private readonly period: number
  private readonly frames: Buffer[] = []
  private readonly batches: Buffer[] = []
  /** Content bytes of the first i frames of a period. */
  private readonly bytesBefore: number[] = [0]
  private readonly ends = new Map<string, Buffer>()

  constructor(behaviour: Behaviour, usageAsked: boolean, kind: Kind) {
    this.behaviour = behaviour
    this.kind = kind
    this.start = chunkStart(behaviour, kind)
    this.ordinaryUsage = usageAsked ? 'null' : undefined
    this.period = contentPeriod(behaviour)
    this.done = behaviour.words.done === 'no' ? Buffer.alloc(0) : this.event('[DONE]')
    this.preface = this.buildHead()
    let bytes = 0
    for (let i = 0; i < this.period; i++) {
      const frame = this.buildFrame(i, this.ordinaryUsage)
      this.frames.push(frame.buffer)
      bytes += frame.contentBytes
      this.bytesBefore.push(bytes)
    }
    for (let i = 0; behaviour.batch > 1 && i + behaviour.batch <= this.period; i += behaviour.batch) {
      this.batches.push(Buffer.concat(this.frames.slice(i, i + behaviour.batch)))
    }
  }

  head(): Buffer {
    return this.preface
  }

  content(index: number, count: number): Buffer {
    const at = index % this.period
    if (count === 1) return this.frames[at] ?? Buffer.alloc(0)
    if (count === this.behaviour.batch && at % count === 0) {
      const batch = this.batches[at / count]
      if (batch !== undefined) return batch
    }
    return Buffer.concat(Array.from({ length: count }, (_, i) => this.content(index + i, 1)))
  }

  contentWithUsage(index: number, usage: ReportedUsage): Buffer {
    return this.buildFrame(index % this.period, usageText(this.behaviour.quirks, usage)).buffer
  }

  contentBytes(frames: number): number {
    const whole = Math.floor(frames / this.period)
    const periodBytes = this.bytesBefore[this.period] ?? 0
    return whole * periodBytes + (this.bytesBefore[frames % this.period] ?? 0)
  }

  textFrame(text: string): Buffer {
    return this.event(this.textChunk(text, this.ordinaryUsage))
  }

  /** Everything after the last content frame: finish reason, usage and [DONE]. */
  end(finishReason: string, usage: ReportedUsage | null, usageAsked: boolean): Buffer {
    const kind = this.behaviour.words.usage
    if (usage === null || (!usageAsked && kind !== 'every' && kind !== 'finish')) {
      const ready = this.ends.get(finishReason)
      if (ready !== undefined) return ready
      const trailer = kind === 'null' && usageAsked ? this.event(usageChunk(this.start, 'null')) : Buffer.alloc(0)
      const end = Buffer.concat([this.finish(finishReason, this.ordinaryUsage), trailer, this.done])
      this.ends.set(finishReason, end)
      return end
    }
    const json = usageText(this.behaviour.quirks, usage)
    const onFinish = kind === 'finish' || kind === 'every' ? json : this.ordinaryUsage
    const parts = [this.finish(finishReason, onFinish, json)]
    if (kind === 'twice') parts.push(this.event(usageChunk(this.start, JSON.stringify(halfOf(usage)))))
    if (kind !== 'finish' && usageAsked) parts.push(this.event(usageChunk(this.start, json)))
    parts.push(this.done)
    return Buffer.concat(parts)
  }

  errorEnd(): Buffer {
    const error = { message: 'The server had an error while processing your request', type: 'server_error' }
    return Buffer.concat([this.event(JSON.stringify({ error: { ...error, param: null, code: null } })), this.done])
  }

  private event(data: string): Buffer {
    return Buffer.from(eventText(this.behaviour, data))
  }

  private buildHead(): Buffer {
    const parts: Buffer[] = []
    if (this.behaviour.bom) parts.push(Buffer.from('\uFEFF'))
    if (this.behaviour.words.preamble === 'azure') parts.push(this.event(azurePreamble(this.behaviour)))
    const content = this.behaviour.tool ? 'null' : '""'
    const role = `{"role":"assistant","content":${content},"refusal":null}`
    if (this.kind === 'text') {
      parts.push(this.event(this.textChunk('')))
      return Buffer.concat(parts)
    }
    parts.push(this.event(choiceChunk(this.start, role, null, this.ordinaryUsage)))
    for (let i = 0; i < (this.behaviour.integers.thinking ?? 0); i++) {
      const delta = JSON.stringify({ [reasoningMember(this.behaviour)]: thinkingText(i) })
      parts.push(this.event(choiceChunk(this.start, delta, null, this.ordinaryUsage)))
    }
    return Buffer.concat(parts)
  }

  private finish(reason: string, usage: string | undefined, reported?: string): Buffer {
    if (this.behaviour.words.finish === 'no') return Buffer.alloc(0)
    if (this.kind === 'text') return this.event(textChunk(this.start, '', reason, usage))
    const last = this.behaviour.quirks?.last?.(reported)
    return this.event(withMembers(choiceChunk(this.start, '{}', reason, usage), last))
  }

  private textChunk(text: string, usage: string | undefined = this.ordinaryUsage): string {
    if (this.kind === 'text') return textChunk(this.start, text, null, usage)
    return choiceChunk(this.start, contentDelta(this.behaviour, text), null, usage)
  }

  private buildFrame(index: number, usage: string | undefined): { buffer: Buffer; contentBytes: number } {
    const { badframe, bigevent } = this.behaviour.integers
    if (index === badframe)
      return { buffer: this.event(`${this.start}"choices":[{"index":0,"delta":{"conte`), contentBytes: 0 }
    if (this.behaviour.tool && this.kind === 'chat') {
      const delta = toolDelta(this.behaviour, index)
      const contentBytes = Buffer.byteLength(toolArguments(this.behaviour, index))
      return { buffer: this.event(choiceChunk(this.start, delta, null, usage)), contentBytes }
    }
    let text = tokenText(this.behaviour, index)
    if (index === 0 && bigevent !== undefined) text = this.fill(bigevent, text, usage)
    const buffer = this.event(this.textChunk(text, usage))
    return { buffer, contentBytes: Buffer.byteLength(text) }
  }

  /** Text that makes the first content frame exactly `bytes` long, framing included, when it is not longer already. */
  private fill(bytes: number, text: string, usage: string | undefined): string {
    const bare = this.event(this.textChunk(text, usage)).length
    return text + 'x'.repeat(Math.max(0, bytes - bare))
  }
}

function halfOf(usage: ReportedUsage): ReportedUsage {
  const half = { ...usage, completion_tokens: Math.floor(usage.completion_tokens / 2) }
  return { ...half, total_tokens: half.prompt_tokens + half.completion_tokens }
}
