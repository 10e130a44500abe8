import { isJsonObject, type JsonObject, parseJsonObject } from '../std/jsonObject.ts'

/** A tool call of a message, or the piece of one that a delta adds. */
export interface CallPiece {
  /** The number that the provider gives it; null without one. */
  readonly index: number | null
  /** '' where the provider gives none. */
  readonly id: string
  readonly name: string
  /** JSON text, or a piece of one. */
  readonly arguments: string
  /** The arguments came as JSON in place of a text, so that they are whole. */
  readonly isWhole: boolean
  /** Members of other names, such as Gemini's signature of the thought that led to the call; null without any. */
  readonly extra: JsonObject | null
}

/** The tool calls of a message or a delta: `tool_calls`, else the single `function_call` of older providers. */
export function callPieces(message: JsonObject): CallPiece[] {
  const calls = message['tool_calls']
  if (Array.isArray(calls) && calls.length > 0) return calls.filter(isJsonObject).map(readPiece)
  if (isJsonObject(calls)) return [readPiece(calls)]
  const single = message['function_call']
  return isJsonObject(single) ? [readPiece(single)] : []
}

/** Whether a call, or what would begin one, is none: some providers fill up the list with them. */
export function saysNothing({ id, name, arguments: text }: CallPiece): boolean {
  return id === '' && name === '' && text === ''
}

/** The id of a call that the provider gave none, the same however the answer is read. */
export function madeCallId(requestId: string, number: number): string {
  return `call_${requestId.slice(requestId.indexOf('_') + 1)}_${number}`
}

function readPiece(call: JsonObject): CallPiece {
  const said = [call['function'], call['custom']].find(isJsonObject) ?? call
  const given = said['arguments'] ?? said['input'] ?? said['parameters'] ?? null
  const isText = typeof given === 'string'
  const {
    index: _index,
    id: _id,
    type: _type,
    function: _function,
    custom: _custom,
    name: _name,
    arguments: _text,
    input: _input,
    parameters: _parameters,
    ...extra
  } = call
  return {
    index: indexOf(call['index']),
    id: textOf(call['id']),
    name: textOf(said['name']),
    arguments: isText ? given : given === null ? '' : JSON.stringify(given),
    isWhole: !isText && given !== null,
    extra: Object.keys(extra).length === 0 ? null : extra,
  }
}

function indexOf(value: unknown): number | null {
  const index = typeof value === 'string' && value.trim() !== '' ? Number(value) : value
  return typeof index === 'number' && Number.isSafeInteger(index) && index >= 0 ? index : null
}

/** Some providers number their ids. */
function textOf(value: unknown): string {
  return typeof value === 'number' ? String(value) : typeof value === 'string' ? value : ''
}

/** Texts for no arguments in place of an empty object: packages of Go and PHP write a map without members so. */
const NOTHING: ReadonlySet<string> = new Set(['', 'null', '[]'])

/** Whether whole arguments are none, although they are not the JSON of an empty object. */
export function lacksArguments(text: string): boolean {
  return NOTHING.has(text.trim())
}

/** The JSON of an object, of arguments that are a text in JSON which holds it, as some servers send them; null for others. */
export function argumentsWithin(text: string): string | null {
  if (!text.trimStart().startsWith('"')) return null
  try {
    const inner: unknown = JSON.parse(text)
    return typeof inner === 'string' && parseJsonObject(inner) !== null ? inner : null
  } catch {
    return null
  }
}
