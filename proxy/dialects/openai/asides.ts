import { jsonBytes } from '../../../contract/api/completion.ts'
import { BODY_MEMBERS, CALL_MEMBER } from '../../../contract/catalog/requestForm.ts'
import { isJsonObject, type JsonObject } from '../../../contract/std/jsonObject.ts'
import type { PromptSize } from '../../admission/holdSize.ts'
import { isGiven } from '../../json/fields.ts'
import type { DialectLimits } from '../limits.ts'
import type { Asides } from '../shared/asides.ts'
import { unknownNames } from '../shared/requestForm.ts'
import { CHAT_OPTIONS } from './options.ts'
import { readEffort, SWITCH_NAMES } from './thinkingSwitch.ts'

const READ = [
  'model',
  'models',
  'messages',
  'stream',
  'stream_options',
  'n',
  'max_tokens',
  'max_completion_tokens',
  'tools',
  'tool_choice',
  'parallel_tool_calls',
  'batch',
  'webhook_url',
]
/** Members that every provider gets, or that are read elsewhere. */
const USUAL: ReadonlySet<string> = new Set([...READ, ...CHAT_OPTIONS.keys()])
const KNOWN: ReadonlySet<string> = new Set([
  ...READ,
  'provider',
  'extra_body',
  ...CHAT_OPTIONS.keys(),
  ...BODY_MEMBERS,
  ...SWITCH_NAMES,
])

/** The members of a chat request that not every provider gets. */
export interface Beside {
  readonly asides?: Asides
  readonly effort?: string
  readonly extras?: JsonObject
}

/**
 * Reads the members that only some providers take, and measures those that a model may read. Members in `extra_body` count
 * as members of the body, because some clients send them so.
 */
export function readAsides(body: JsonObject, size: PromptSize, limits: DialectLimits): Beside {
  if (size.callMembers === true) return readUnusual(body, size, limits)
  for (const name in body) if (!USUAL.has(name)) return readUnusual(body, size, limits)
  const { reasoning_effort: effort } = body
  return typeof effort === 'string' ? { effort } : NOTHING
}

/** The same with known members of which a part is left out. */
export function withInPart(beside: Beside, inPart: readonly string[]): Beside {
  if (inPart.length === 0) return beside
  const { unknown = [], extra = [], thinking = [] } = beside.asides ?? {}
  return { ...beside, asides: { unknown: [...unknown, ...inPart], extra, thinking } }
}

const NOTHING: Beside = {}

function readUnusual(body: JsonObject, size: PromptSize, { droppedNamesMax }: DialectLimits): Beside {
  const { extra_body: nested } = body
  const whole = isJsonObject(nested) ? { ...nested, ...body } : body
  const { effort, names } = readEffort(whole)
  const extras: JsonObject = {}
  for (const name of BODY_MEMBERS) if (isGiven(whole[name])) extras[name] = whole[name]
  const bodyNames = Object.keys(extras)
  const extra = size.callMembers === true ? [...bodyNames, CALL_MEMBER] : bodyNames
  // No model reads metadata.
  if (bodyNames.length > 0) size.textBytes += jsonBytes({ ...extras, metadata: undefined })
  const unknown = unknownNames(whole, KNOWN, droppedNamesMax)
  const some = unknown.length + extra.length + names.length > 0
  return {
    ...(some && { asides: { unknown, extra, thinking: names } }),
    ...(effort !== null && { effort }),
    ...(bodyNames.length > 0 && { extras }),
  }
}
