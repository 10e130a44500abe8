import { DIALECT } from '../../../contract/catalog/dialects.ts'
import { CACHE_MEMBER, type RequestForm } from '../../../contract/catalog/requestForm.ts'
import type { JsonObject } from '../../../contract/std/jsonObject.ts'
import type { Provider } from '../../catalog/pricedItem.ts'
import type { Asides } from './asides.ts'
import { withoutCacheMarks } from './cacheMarks.ts'
import type { ChatFields } from './chatRequest.ts'
import { withCallIds } from './historyCallIds.ts'
import { hasForeignPreferences } from './preferences.ts'

const NAME = /^[\w.-]{1,64}$/
const NOTHING: readonly string[] = []

const WRITERS: Readonly<Record<string, (effort: string) => JsonObject>> = {
  reasoning_effort: (effort) => ({ reasoning_effort: effort }),
  thinking: (effort) => ({ thinking: { type: isOff(effort) ? 'disabled' : 'enabled' } }),
  // api-docs.deepseek.com/guides/thinking_mode, platform.kimi.ai/docs/guide/use-kimi-k2-thinking-model; Moonshot refuses both in a request.
  thinking_off: (effort) => (isOff(effort) ? { thinking: { type: 'disabled' } } : { reasoning_effort: effort }),
  enable_thinking: (effort) => ({ enable_thinking: !isOff(effort) }),
  // Templates differ in the name, and each leaves alone what it does not know.
  chat_template_kwargs: (effort) => ({
    chat_template_kwargs: { enable_thinking: !isOff(effort), thinking: !isOff(effort) },
  }),
  reasoning: (effort) => ({ reasoning: isOff(effort) ? { enabled: false } : { effort } }),
  none: () => ({}),
}

/**
 * A body in the format of chat completions as a provider wants it.
 * @param effort how much to think, by the words of reasoning_effort; absent leaves it to the provider
 * @param extras members that providers may take whose form has them
 */
export function shapedBody(
  forward: JsonObject,
  form: RequestForm,
  effort: string | undefined,
  extras: JsonObject | undefined,
): JsonObject {
  const body: JsonObject = { ...forward }
  for (const name of form.extra) if (extras?.[name] !== undefined) body[name] = extras[name]
  const write = WRITERS[form.thinking]
  if (write !== undefined && effort !== undefined) {
    delete body['reasoning_effort']
    Object.assign(body, write(effort))
  }
  if (Array.isArray(body['messages'])) body['messages'] = shapedMessages(body['messages'], form)
  for (const name of form.omit) delete body[name]
  // The one member of `omit_members` that is in the parts of messages.
  return form.omit.includes(CACHE_MEMBER) && Array.isArray(body['messages']) ? withoutCacheMarks(body) : body
}

function shapedMessages(given: readonly JsonObject[], form: RequestForm): readonly JsonObject[] {
  const { callIdCharacters: characters } = form
  const messages = characters === 0 ? given : given.map((message) => withCallIds(message, characters))
  if (form.systemFirst) return systemFirst(messages)
  return form.developerAsSystem ? messages.map(withoutDeveloper) : messages
}

/**
 * The names of members that a provider does not get, which the client's answer lists.
 * @param max names; longer lists would not fit
 */
export function droppedNames(
  { asides, named = [] }: ChatFields,
  { dialect, form }: Provider,
  max: number,
): readonly string[] {
  const lacks: readonly string[] = DIALECT[dialect].lacks
  if (asides === undefined && form === null && lacks.length === 0) return NOTHING
  const { unknown = [], extra = [], thinking = [] } = asides ?? {}
  const taken = new Set(form?.extra)
  const thinks = DIALECT[dialect].thinking || (form !== null && form.thinking !== '' && form.thinking !== 'none')
  const omitted = named.filter((name) => lacks.includes(name) || form?.omit.includes(name))
  const dropped = [...unknown, ...extra.filter((name) => !taken.has(name)), ...(thinks ? [] : thinking), ...omitted]
  return dropped.slice(0, max)
}

/** The names of a body's members that are given and not among the known ones, or have an unknown part. */
export function unknownNames(body: JsonObject, known: ReadonlySet<string>, max: number): string[] {
  const names: string[] = hasForeignPreferences(body['provider']) ? ['provider'] : []
  for (const name in body) {
    if (!known.has(name) && body[name] !== null && body[name] !== undefined && NAME.test(name)) names.push(name)
    if (names.length >= max) break
  }
  return names
}

/**
 * The names of a body's members that no provider gets, where an endpoint has no others.
 * @param inPart known members of which a part is left out
 */
export function asidesOf(
  body: JsonObject,
  known: ReadonlySet<string>,
  max: number,
  inPart: readonly string[],
): { asides?: Asides } {
  const unknown = [...unknownNames(body, known, max), ...inPart]
  return unknown.length === 0 ? {} : { asides: { unknown, extra: [], thinking: [] } }
}

function isOff(effort: string): boolean {
  return effort === 'none'
}

/** System messages as one at the beginning; those that come later are said by the user. */
function systemFirst(messages: readonly JsonObject[]): JsonObject[] {
  const start = messages.findIndex((message) => !isSystem(message))
  const leading = messages.slice(0, start < 0 ? messages.length : start)
  const rest = messages
    .slice(leading.length)
    .map((message) => (isSystem(message) ? { ...message, role: 'user' } : message))
  if (leading.length === 0) return rest
  return [{ role: 'system', content: leading.map(textOf).join('\n\n') }, ...rest]
}

function withoutDeveloper(message: JsonObject): JsonObject {
  return message['role'] === 'developer' ? { ...message, role: 'system' } : message
}

function isSystem({ role }: JsonObject): boolean {
  return role === 'system' || role === 'developer'
}

function textOf({ content }: JsonObject): string {
  if (typeof content === 'string') return content
  if (!Array.isArray(content)) return ''
  return content.map((part: { text?: unknown }) => (typeof part.text === 'string' ? part.text : '')).join('\n\n')
}
