import { madeCallId } from '../../../contract/api/callPiece.ts'
import { isJsonObject, type JsonObject } from '../../../contract/std/jsonObject.ts'
import type { AnswerJson } from '../../json/answerJson.ts'
import { exactObject, exactTexts, isRounded } from '../../json/exactJson.ts'

/** Gives the calls of one answer their ids, which a provider may leave out or use twice. */
export class CallIds {
  private readonly requestId: string
  private readonly used = new Set<unknown>()

  constructor(requestId: string) {
    this.requestId = requestId
  }

  get count(): number {
    return this.used.size
  }

  /** The id of the next call. @param given as the provider has it */
  next(given: unknown): string {
    const text = typeof given === 'number' ? String(given) : given
    const isFree = typeof text === 'string' && text !== '' && !this.used.has(text)
    const id = isFree ? text : madeCallId(this.requestId, this.used.size)
    this.used.add(id)
    return id
  }
}

/** Whether a block is a call that the client is to make. */
export function isCall(block: JsonObject): boolean {
  return block['type'] === 'tool_use'
}

/** Whether a call has a name, without which nobody can make it. */
export function isNamed(block: JsonObject): boolean {
  return typeof block['name'] === 'string' && block['name'] !== ''
}

/** The input of a call as JSON text, which a provider may give as a text or as an object; '' for none. */
export function inputText(input: unknown): string {
  if (typeof input === 'string') return input
  return isJsonObject(input) && Object.keys(input).length > 0 ? JSON.stringify(input) : ''
}

/** The blocks of an answer in one piece, whose content may be a text; null for one that has no content. */
export function contentOf({ content }: JsonObject): JsonObject[] | null {
  if (typeof content === 'string') return [{ type: 'text', text: content }]
  return Array.isArray(content) ? content.filter(isJsonObject) : null
}

/** The blocks of a message. */
export function blocksOf(message: JsonObject): JsonObject[] {
  return contentOf(message) ?? []
}

/** The calls in the messages of a body that is not checked. */
export function callsIn({ messages }: JsonObject): JsonObject[] {
  return Array.isArray(messages) ? messages.filter(isJsonObject).flatMap(blocksOf).filter(isCall) : []
}

/** A block whose text is one, to which packages add the deltas; the same object where it is. */
export function withText(block: JsonObject): JsonObject {
  const { type, signature } = block
  if ((type !== 'text' && type !== 'thinking') || (typeof block[type] === 'string' && signature !== null)) return block
  return { ...block, [type]: block[type] ?? '', ...(signature === null && { signature: '' }) }
}

/** The blocks of an answer in one piece as the format has them; null when a call has no name. */
export function repairedBlocks(blocks: readonly JsonObject[], requestId: string): JsonObject[] | null {
  const ids = new CallIds(requestId)
  if (!blocks.every((block) => !isCall(block) || isNamed(block))) return null
  return blocks.map((block) => {
    if (!isCall(block)) return withText(block)
    return { ...block, id: ids.next(block['id']), input: exactObject(inputText(block['input'])) ?? {} }
  })
}

/** The blocks of an answer with the inputs of calls as text, where they have numbers that were rounded when it was parsed. */
export function withExactInputs(blocks: readonly JsonObject[], { bytes, cuts }: AnswerJson): readonly JsonObject[] {
  if (cuts.length > 0 || !blocks.some((block) => isCall(block) && isRounded(block['input']))) return blocks
  const exact = exactTexts(bytes, (answer) => blocksOf(answer).map(({ input }) => input))
  return blocks.map((block, place) => (isCall(block) ? { ...block, input: exact[place] ?? block['input'] } : block))
}
