import type { Behaviour } from './grammar.ts'

/** Token texts repeat after this many frames, which bounds the memory of a plan. */
const PERIOD_MAX = 1_024
export const TOOL_NAME = 'get_weather'
export const TOOL_ID = 'call_3fQ9aZ1kT7bW2xYc'

/** How many different content frames a behaviour has; frame i looks like frame i modulo this. */
export function contentPeriod(behaviour: Behaviour): number {
  const chunks = Math.max(1, behaviour.chunks)
  if (hasPlaces(behaviour)) return chunks
  const period = Math.min(chunks, PERIOD_MAX)
  return Math.ceil(period / behaviour.batch) * behaviour.batch
}

/** Whether frames differ by their place in the stream, so that none can be reused for another. */
function hasPlaces(behaviour: Behaviour): boolean {
  const { badframe, bigevent } = behaviour.integers
  return behaviour.tool || badframe !== undefined || bigevent !== undefined
}

/** The text of content frame `index`, without the size that `bigevent` gives the first one. */
export function tokenText(behaviour: Behaviour, index: number): string {
  if (behaviour.donetext) return ' data: [DONE]\n\n'
  if (behaviour.text !== undefined) return behaviour.text
  return ` tok${index}`
}

/** The delta of content frames, as JSON text. */
export function contentDelta(behaviour: Behaviour, text: string): string {
  return JSON.stringify(behaviour.refuse ? { refusal: text } : { content: text })
}

/** The delta of content frame `index` as JSON text, when the behaviour answers with a tool call. */
export function toolDelta(behaviour: Behaviour, index: number): string {
  if (behaviour.quirks?.wholeTool === true) return wholeToolDelta(behaviour, index)
  const call = index === 0 ? { index: 0, id: TOOL_ID, type: 'function' } : { index: 0 }
  const argumentsPart = toolArguments(behaviour, index)
  const named = index === 0 ? { name: TOOL_NAME, arguments: argumentsPart } : { arguments: argumentsPart }
  return JSON.stringify({ tool_calls: [{ ...call, function: named }] })
}

function wholeToolDelta(behaviour: Behaviour, index: number): string {
  if (index > 0) return '{}'
  const call = { id: TOOL_ID, type: 'function', function: { name: TOOL_NAME, arguments: wholeArguments(behaviour) } }
  return JSON.stringify({ tool_calls: [call] })
}

function wholeArguments(behaviour: Behaviour): string {
  return Array.from({ length: Math.max(1, behaviour.chunks) }, (_, i) => toolArguments(behaviour, i)).join('')
}

/** The part of the call's arguments in frame `index`; all parts together are one JSON object. */
export function toolArguments(behaviour: Behaviour, index: number): string {
  const last = behaviour.chunks - 1
  if (last <= 0) return '{"city":"Paris"}'
  if (index === 0) return ''
  const open = index === 1 ? '{"city":"' : ''
  const close = index === last ? '"}' : ''
  return `${open}Paris${close}`
}

/** The text of an answer in one piece with `frames` tokens, or the arguments of its tool call. */
export function wholeText(behaviour: Behaviour, frames: number): string {
  let text = ''
  for (let i = 0; i < frames; i++) {
    text += behaviour.tool ? toolArguments(behaviour, i) : tokenText(behaviour, i % contentPeriod(behaviour))
  }
  return behaviour.integers.bigevent === undefined ? text : 'x'.repeat(behaviour.integers.bigevent) + text
}

/** Piece `index` of the thinking before the content. */
export function thinkingText(index: number): string {
  return ` thought${index}`
}

/** The member of a delta or a message that has the thinking. */
export function reasoningMember({ quirks }: Behaviour): string {
  return quirks?.reasoning ?? 'reasoning_content'
}

/** All of the thinking; '' for a behaviour without any. */
export function wholeThinking(behaviour: Behaviour): string {
  return Array.from({ length: behaviour.integers.thinking ?? 0 }, (_, i) => thinkingText(i)).join('')
}

/** The message of an answer in one piece with `frames` tokens, as JSON text. */
export function messageText(behaviour: Behaviour, frames: number): { json: string; contentBytes: number } {
  const text = wholeText(behaviour, frames)
  const contentBytes = Buffer.byteLength(text)
  const thinking = wholeThinking(behaviour)
  const said = thinking === '' ? {} : { [reasoningMember(behaviour)]: thinking }
  if (!behaviour.tool) {
    const [content, refusal] = behaviour.refuse ? [null, text] : [text, null]
    return { json: JSON.stringify({ role: 'assistant', content, refusal, ...said }), contentBytes }
  }
  const call = { id: TOOL_ID, type: 'function', function: { name: TOOL_NAME, arguments: text } }
  const message = { role: 'assistant', content: null, tool_calls: [call], refusal: null, ...said }
  return { json: JSON.stringify(message), contentBytes }
}

/** The text of a text completion with `frames` tokens, as JSON text. */
export function plainText(behaviour: Behaviour, frames: number): { json: string; contentBytes: number } {
  const text = wholeText({ ...behaviour, tool: false }, frames)
  return { json: JSON.stringify(text), contentBytes: Buffer.byteLength(text) }
}
