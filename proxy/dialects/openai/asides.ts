import { jsonBytes } from '../../../contract/api/completion.ts'
import { EXTRA_MEMBERS } from '../../../contract/catalog/requestForm.ts'
import { isJsonObject, type JsonObject } from '../../../contract/std/jsonObject.ts'
import type { PromptSize } from '../../admission/holdSize.ts'
import { isGiven } from '../../json/fields.ts'
import type { Asides } from '../shared/asides.ts'
import { unknownNames } from '../shared/requestForm.ts'
import { CHAT_OPTIONS } from './options.ts'
import { readEffort, SWITCH_NAMES } from './thinkingSwitch.ts'

const READ = [
  'model',
  'messages',
  'stream',
  'stream_options',
  'n',
  'max_tokens',
  'max_completion_tokens',
  'tools',
  'tool_choice',
  'parallel_tool_calls',
  'provider',
  'batch',
  'webhook_url',
  'extra_body',
]
const KNOWN: ReadonlySet<string> = new Set([...READ, ...CHAT_OPTIONS.keys(), ...EXTRA_MEMBERS, ...SWITCH_NAMES])

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
export function readAsides(body: JsonObject, size: PromptSize): Beside {
  const { extra_body: nested } = body
  const whole = isJsonObject(nested) ? { ...nested, ...body } : body
  const { effort, names } = readEffort(whole)
  const extras: JsonObject = {}
  for (const name of EXTRA_MEMBERS) if (isGiven(whole[name])) extras[name] = whole[name]
  const extra = Object.keys(extras)
  if (extra.length > 0) size.textBytes += jsonBytes(extras)
  const unknown = unknownNames(whole, KNOWN)
  const some = unknown.length + extra.length + names.length > 0
  return {
    ...(some && { asides: { unknown, extra, thinking: names } }),
    ...(effort !== null && { effort }),
    ...(extra.length > 0 && { extras }),
  }
}
