import { messageText, plainText } from './content.ts'
import { completionText, type Kind } from './events.ts'
import type { Exchange } from './exchange.ts'
import { contentLimit, echoText } from './exchange.ts'
import type { Behaviour } from './grammar.ts'
import { messagesAnswer } from './messagesPlan.ts'
import { usageText } from './quirks.ts'
import type { ChatBody } from './request.ts'
import type { ReportedUsage } from './usage.ts'
import { usageOf } from './usage.ts'
import type { TimerWheel } from './wheel.ts'

const MESSAGES_MAX = 1_000
const messages = new Map<string, { json: string; contentBytes: number }>()

/** Answers in one piece, as late as the same tokens would have taken to stream. */
export function answerWhole(exchange: Exchange, behaviour: Behaviour, request: ChatBody, wheel: TimerWheel): void {
  const limit = contentLimit(behaviour, request)
  const writes = Math.max(0, Math.ceil(limit.frames / behaviour.batch) - 1)
  const waitMs = behaviour.slowHeadersMs + behaviour.ttftMs + writes * behaviour.delayMs
  const answer = () => {
    if (!exchange.ended) exchange.res.cork(() => writeWhole(exchange, behaviour, request, limit))
  }
  if (waitMs === 0) answer()
  else wheel.add({ dueMs: wheel.nowMs() + waitMs, fire: answer })
}

function writeWhole(
  exchange: Exchange,
  behaviour: Behaviour,
  request: ChatBody,
  limit: { frames: number; finishReason: string },
): void {
  const usage = usageOf(behaviour, request.promptTokens, limit.frames)
  const { body, contentBytes } =
    request.kind === 'messages'
      ? messagesAnswer(behaviour, behaviour.echo ? echoText(exchange) : null, limit, usage)
      : chatAnswer(exchange, request.kind, behaviour, limit, usage)
  exchange.res.writeHeader('content-type', 'application/json')
  const { cut, fin, hang } = behaviour.integers
  if (cut === undefined && fin === undefined && hang === undefined) {
    exchange.sent(200, limit.frames, contentBytes, usage)
    return exchange.end('complete', body)
  }
  // Half of the body, while Content-Length has its full length.
  const bytes = Buffer.from(body)
  exchange.sent(200, 0, 0, null)
  exchange.res.tryEnd(bytes.subarray(0, bytes.length >> 1), bytes.length)
  if (hang === undefined) exchange.destroy()
}

function chatAnswer(
  exchange: Exchange,
  kind: Kind,
  behaviour: Behaviour,
  limit: { frames: number; finishReason: string },
  usage: ReportedUsage | null,
): { body: string; contentBytes: number } {
  const message = behaviour.echo ? echoMessage(exchange, kind) : messageOf(behaviour, kind, limit.frames)
  const usageJson =
    usage !== null ? usageText(behaviour.quirks, usage) : behaviour.words.usage === 'null' ? 'null' : undefined
  const body = completionText(behaviour, kind, message.json, limit.finishReason, usageJson)
  return { body, contentBytes: message.contentBytes }
}

/** A whole chat completion and the usage that it reports, as a line of a batch carries it. */
export function completionOf(behaviour: Behaviour, request: ChatBody): { body: string; usage: ReportedUsage | null } {
  const limit = contentLimit(behaviour, request)
  const usage = usageOf(behaviour, request.promptTokens, limit.frames)
  const message = messageOf(behaviour, 'chat', limit.frames)
  const usageJson =
    usage !== null ? usageText(behaviour.quirks, usage) : behaviour.words.usage === 'null' ? 'null' : undefined
  return { body: completionText(behaviour, 'chat', message.json, limit.finishReason, usageJson), usage }
}

function messageOf(behaviour: Behaviour, kind: Kind, frames: number): { json: string; contentBytes: number } {
  const key = `${kind} ${frames} ${behaviour.name}`
  let message = messages.get(key)
  if (message === undefined) {
    message = kind === 'chat' ? messageText(behaviour, frames) : plainText(behaviour, frames)
    if (messages.size >= MESSAGES_MAX) messages.clear()
    messages.set(key, message)
  }
  return message
}

function echoMessage(exchange: Exchange, kind: Kind): { json: string; contentBytes: number } {
  const text = echoText(exchange)
  const message = kind === 'chat' ? { role: 'assistant', content: text } : text
  return { json: JSON.stringify(message), contentBytes: Buffer.byteLength(text) }
}
