import { placeOf } from '../../../contract/std/fnv1a.ts'
import { isJsonObject, type JsonObject } from '../../../contract/std/jsonObject.ts'
import type { Principal } from '../../access/principal.ts'
import type { Model } from '../../catalog/catalog.ts'
import type { Conversation } from '../../dialects/shared/chatRequest.ts'
import type { Exchange } from '../../server/exchange.ts'

/** Characters of a text that count, at its beginning and at its end: conversations that differ, differ there. */
const SIDE_CHARACTERS = 1_024
const INSTRUCTING: ReadonlySet<unknown> = new Set(['system', 'developer'])

/** A request by what may name its conversation. */
export interface NamedRequest {
  readonly requestId: string
  /** The session that a header names; '' for none. */
  readonly session: string
}

/**
 * The conversation of a request as a number: the session that it names, else how it begins. All requests of a conversation go to
 * one key of a provider, where their prompts are cached.
 * @param conversation absent for a request that has none, which goes anywhere
 */
export function affinityOf(
  { accountId, keyId }: Pick<Principal, 'accountId' | 'keyId'>,
  { session, requestId }: NamedRequest,
  conversation?: Conversation,
): number {
  if (session !== '') return placeOf(`${accountId} ${sideText(session)}`)
  if (conversation === undefined) return placeOf(requestId)
  const { name, beginning } = conversation
  return placeOf(name === '' ? `${keyId} ${beginning}` : `${accountId} ${name}`)
}

/** The same for a request without a conversation; undefined for a model that leaves no choice. */
export function unitAffinity(
  { leavesChoice }: Pick<Model, 'leavesChoice'>,
  principal: Principal,
  { id, head }: Pick<Exchange, 'id' | 'head'>,
): number | undefined {
  return leavesChoice ? affinityOf(principal, { requestId: id, session: head.session ?? '' }) : undefined
}

/** The conversation of a chat request by its body. @param body in the format of chat completions, or of Messages */
export function conversationOf(body: JsonObject): Conversation {
  const name = nameIn(body)
  if (name !== '') return { name: sideText(name), beginning: '' }
  const messages = Array.isArray(body['messages']) ? body['messages'].filter(isJsonObject) : []
  const first = messages.findIndex(({ role }) => !INSTRUCTING.has(role))
  const begin = messages.slice(0, first + 1).map(({ content }) => contentText(content))
  return { name: '', beginning: [contentText(body['system']), ...begin, contentText(body['prompt'])].join('\n') }
}

function nameIn(body: JsonObject): string {
  const metadata = isJsonObject(body['metadata']) ? body['metadata'] : {}
  const names = [body['prompt_cache_key'], body['user'], metadata['user_id']]
  return names.find((name): name is string => typeof name === 'string' && name !== '') ?? ''
}

/** The first and the last text of a message: images and documents stand between them, if at all. */
function contentText(content: unknown): string {
  if (typeof content === 'string') return sideText(content)
  if (!Array.isArray(content)) return ''
  const texts = content.flatMap((part: unknown) => {
    const text = isJsonObject(part) ? part['text'] : part
    return typeof text === 'string' ? [text] : []
  })
  return [texts.at(0), texts.length > 1 ? texts.at(-1) : undefined].map((text) => sideText(text ?? '')).join('\n')
}

function sideText(text: string): string {
  if (text.length <= 2 * SIDE_CHARACTERS) return text
  return `${text.slice(0, SIDE_CHARACTERS)}${text.length}${text.slice(-SIDE_CHARACTERS)}`
}
