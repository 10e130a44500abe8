import { createHash } from 'node:crypto'
import type { JsonObject } from '../../../contract/std/jsonObject.ts'
import type { PromptSize } from '../../admission/holdSize.ts'

/** The longest id of a call that OpenAI takes, in characters. */
const ID_CHARACTERS_MAX = 40
const HASH_CHARACTERS = 32
/** Characters that not every provider takes, which are replaced on the way. */
const UNUSUAL = /[^A-Za-z0-9_-]/g
const LETTERS_AND_DIGITS = /^[A-Za-z0-9]*$/
/** Those of base64 beside letters and digits. */
const SIGNS = /[+/=]/g

/** The id of a call of a history as every provider takes it: a hash in place of one that is too long. */
export function fittingCallId(id: string): string {
  return id.length <= ID_CHARACTERS_MAX ? id : hashedId(id)
}

/**
 * Gives each call of a history an id of its own. Providers refuse an id that a later turn has as well, as some models number
 * their calls anew in each turn. The same history gets the same ids, so that its beginning stays cached.
 */
export class HistoryCallIds {
  private readonly used = new Set<string>()
  /** By each id that came more than once, the last number that was tried for it: all those before it are used. */
  private readonly tried = new Map<string, number>()
  private readonly size: PromptSize

  /** @param size of the prompt, which grows by ids that become longer, each with its call and its result */
  constructor(size: PromptSize) {
    this.size = size
  }

  /** @param id as the client has it */
  next(id: string): string {
    let unique = id
    if (this.used.has(taken(id))) {
      let n = this.tried.get(id) ?? 1
      do unique = hashedId(`${id} ${++n}`)
      while (this.used.has(taken(unique)))
      this.tried.set(id, n)
    }
    this.used.add(taken(unique))
    this.size.textBytes += 2 * Math.max(0, unique.length - id.length)
    return unique
  }
}

/** An id in the characters that every provider takes. */
function taken(id: string): string {
  return id.replace(UNUSUAL, '_')
}

/** A message of a chat whose calls, or whose call, have ids of so many letters and digits. */
export function withCallIds(message: JsonObject, characters: number): JsonObject {
  const { tool_calls: calls, tool_call_id: id } = message
  const shaped = (call: JsonObject) => ({ ...call, id: shapedId(String(call['id']), characters) })
  if (Array.isArray(calls)) return { ...message, tool_calls: calls.map(shaped) }
  return typeof id === 'string' ? { ...message, tool_call_id: shapedId(id, characters) } : message
}

function shapedId(id: string, characters: number): string {
  if (id.length === characters && LETTERS_AND_DIGITS.test(id)) return id
  return createHash('sha256').update(id).digest('base64').replace(SIGNS, '').slice(0, characters)
}

function hashedId(id: string): string {
  return `call_${createHash('sha256').update(id).digest('hex').slice(0, HASH_CHARACTERS)}`
}
