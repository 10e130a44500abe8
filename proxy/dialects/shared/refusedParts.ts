import { REASONING_MEMBER } from '../../../contract/catalog/requestForm.ts'
import { membersOf, type RequestPart } from '../../../contract/providers/requestPart.ts'
import { isJsonObject, type JsonObject } from '../../../contract/std/jsonObject.ts'
import { withoutCacheMarks } from './cacheMarks.ts'
import { askedToCall } from './forcedCalls.ts'
import { leftOut } from './leftOut.ts'
import { mapParts } from './mapParts.ts'
import { endedByUser } from './prefill.ts'
import { fittingEffort } from './topEffort.ts'

/** The notes by the type of a part of a chat, or of a block of the Messages format. */
const NOTES: Readonly<Partial<Record<RequestPart, ReadonlyMap<unknown, string>>>> = {
  images: new Map([
    ['image', leftOut('image')],
    ['image_url', leftOut('image')],
  ]),
  documents: new Map([
    ['document', leftOut('document')],
    ['file', leftOut('input_file')],
  ]),
}
const NONE: ReadonlyMap<unknown, string> = new Map()

/**
 * The body of a chat, or of the Messages format, without the members that a provider has refused, and with notes in place of
 * the images and documents of its history that it has refused. Those of a user who waits for the answer stay: the user can send others.
 * A prefill that it has refused is followed by the user, who asks for a call where it refuses to be forced to one.
 */
export function withoutRefused(body: JsonObject, leavesOut: readonly RequestPart[] = []): JsonObject {
  if (leavesOut.length === 0) return body
  const taken = withoutMembers(body, leavesOut)
  const { messages } = taken
  if (!Array.isArray(messages)) return taken
  const notes = new Map(leavesOut.flatMap((part) => [...(NOTES[part] ?? NONE)]))
  const last = messages.length - 1
  const said = leavesOut.includes('thoughts') ? (messages as JsonObject[]).map(withoutReasoning) : messages
  const shown = (said as JsonObject[]).map((message, i) =>
    i === last && isOfUser(message) ? message : mapParts(message, (part) => noteOf(part, notes)),
  )
  const cited = leavesOut.includes('citations') ? shown.map((message) => mapParts(message, uncited)) : shown
  const known = { ...taken, messages: leavesOut.includes('prefill') ? endedByUser(cited) : cited }
  const marked = leavesOut.includes('cacheMarks') ? withoutCacheMarks(known) : known
  return leavesOut.includes('forcedCalls') ? askedToCall(marked) : marked
}

function withoutMembers(body: JsonObject, leavesOut: readonly RequestPart[]): JsonObject {
  const refused = membersOf(leavesOut)
  const taken: JsonObject = Object.fromEntries(Object.entries(body).filter(([name]) => !refused.includes(name)))
  const { tools } = taken
  if (leavesOut.includes('toolMembers') && Array.isArray(tools)) taken['tools'] = (tools as JsonObject[]).map(plainTool)
  const { output_config: config, reasoning_effort: asked } = taken
  if (asked !== undefined) taken['reasoning_effort'] = fittingEffort(asked, leavesOut)
  if (!leavesOut.includes('effort') || !isJsonObject(config)) return taken
  // Where the Messages format has it.
  const { effort: _effort, ...others } = config
  return { ...taken, output_config: Object.keys(others).length === 0 ? undefined : others }
}

/** A tool of a chat, or of the Messages format, without what it says of its arguments beside their schema. */
function plainTool({ strict: _strict, eager_input_streaming: _eager, ...tool }: JsonObject): JsonObject {
  const { function: declared } = tool
  return isJsonObject(declared) ? { ...tool, function: plainTool(declared) } : tool
}

/** A message of a chat without the reasoning that its client sends back, which some providers refuse. */
function withoutReasoning({ [REASONING_MEMBER]: _text, ...message }: JsonObject): JsonObject {
  return message
}

function uncited({ citations: _citations, ...part }: JsonObject): JsonObject {
  return part
}

function isOfUser({ role, content }: JsonObject): boolean {
  return role === 'user' && !partsIn(content).some((part) => part['type'] === 'tool_result')
}

function noteOf(part: JsonObject, notes: ReadonlyMap<unknown, string>): JsonObject {
  const text = notes.get(part['type'])
  return text === undefined ? part : { type: 'text', text }
}

function partsIn(content: unknown): readonly JsonObject[] {
  return Array.isArray(content) ? content.filter(isJsonObject) : []
}
