import { jsonBytes } from '../../../contract/api/completion.ts'
import { isJsonObject, type JsonObject } from '../../../contract/std/jsonObject.ts'
import type { DialectLimits } from '../limits.ts'
import type { Message } from '../shared/message.ts'
import { type PackBound, pack, unpack } from '../shared/packed.ts'
import type { ItemIds, OutputItem } from './responseItems.ts'

/** The request for a summary, as the last message of the conversation. */
const ASK =
  'Sum up this conversation for yourself: its messages will be gone, and you will go on from your summary alone. State what ' +
  'the user wants and which rules hold, what was done and decided and why, the names, paths, values and results that are ' +
  'needed again, what failed, what is left to do, and the next step. Write the summary alone, and call no tools.'
/** The words before the summary in a later request. */
const TOLD = 'The conversation so far was summed up as follows; go on from there.\n\n'

const TRIGGER = 'compaction_trigger'
/** Members of a response that do not count for a summary: the model is to write a text, and to call nothing. */
const LEFT_OUT: ReadonlySet<string> = new Set(['tools', 'tool_choice', 'parallel_tool_calls', 'text'])

/** A summary in the place of what was said, as its client keeps it. */
export class SummaryItem implements OutputItem {
  readonly id: string
  readonly index: number
  private readonly packed: string

  /** @param packed from `packSummary` */
  constructor(ids: ItemIds, index: number, packed: string) {
    this.id = ids.of('cmp', index)
    this.index = index
    this.packed = packed
  }

  json(): string {
    return `{"type":"compaction","id":"${this.id}","encrypted_content":"${this.packed}"}`
  }
}

/** Whether the last item of the input asks for a summary of what is before it. */
export function asksForSummary({ input }: JsonObject): boolean {
  const last: unknown = Array.isArray(input) ? input.at(-1) : null
  return isJsonObject(last) && last['type'] === TRIGGER
}

/** The body of a response in which the model sums up the conversation of another one. */
export function summaryBody(body: JsonObject): JsonObject {
  const { input, ...rest } = body
  const read = Object.fromEntries(Object.entries(rest).filter(([name]) => !LEFT_OUT.has(name)))
  const items = typeof input === 'string' ? [messageOf(input)] : input
  if (!Array.isArray(items)) return { ...read, input }
  return { ...read, input: [...(asksForSummary(body) ? items.slice(0, -1) : (items as unknown[])), messageOf(ASK)] }
}

/** The summary in an answer; where its output ended before there was one, what the model had thought about it. */
export function summaryIn({ text, refusal, reasoning }: Pick<Message, 'text' | 'refusal' | 'reasoning'>): string {
  return text || refusal || reasoning
}

/** A summary as a text that clients keep and send back in the place of the conversation. */
export function packSummary(text: string, bound: PackBound): string {
  return pack({ type: 'summary', text }, bound)
}

/** The message that stands for a packed summary in a later request; null for one that was written elsewhere. */
export function unpackSummary(packed: unknown, bound: PackBound): string | null {
  const { type, text } = unpack(packed, bound) ?? {}
  return type === 'summary' && typeof text === 'string' ? TOLD + text : null
}

/**
 * The messages of the user that stay beside a summary: the newest ones, as they were sent, up to the bound.
 * @param input checked items of a request
 * @returns as JSON, from the oldest to the newest, separated by commas
 */
export function keptMessages(input: unknown, { compactKeptBytesMax }: DialectLimits): string {
  const kept: string[] = []
  let bytesLeft = compactKeptBytesMax
  const items: unknown[] = Array.isArray(input) ? input : [messageOf(input)]
  for (const item of items.toReversed()) {
    if (!isJsonObject(item) || item['role'] !== 'user' || (item['type'] ?? 'message') !== 'message') continue
    const message =
      typeof item['content'] === 'string' ? { ...item, ...messageOf(item['content']) } : { ...item, type: 'message' }
    bytesLeft -= jsonBytes(message)
    if (bytesLeft < 0) break
    kept.unshift(JSON.stringify(message))
  }
  return kept.join(',')
}

function messageOf(text: unknown): JsonObject {
  return { type: 'message', role: 'user', content: [{ type: 'input_text', text }] }
}
