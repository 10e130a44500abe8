import { type JsonObject, parseJsonObject } from '../../../contract/std/jsonObject.ts'

/** The operations on a file that have a diff. */
const CHANGES: ReadonlySet<unknown> = new Set(['create_file', 'update_file'])
const TEXT = '"(?:type|path)"\\s*:\\s*"(?:[^"\\\\]|\\\\.)*"'
/** The beginning of arguments that says what is done to which file. */
const FILE = new RegExp(`^\\s*\\{\\s*(${TEXT}\\s*,\\s*${TEXT})\\s*[,}]`)
/** The longest beginning of arguments that is looked at with each piece of them, in characters. */
const FILE_CHARACTERS_MAX = 4_096

/**
 * The action of a call of a shell. Clients read all its members, so that those which a model has left out or written otherwise
 * are replaced.
 * @param text the arguments as the model has written them, so far
 */
export function shellAction(text: string): JsonObject {
  const { commands, timeout_ms: timeout, max_output_length: length } = parseJsonObject(text) ?? {}
  const lines = Array.isArray(commands) ? commands : [commands]
  return {
    commands: lines.filter((line) => typeof line === 'string'),
    timeout_ms: typeof timeout === 'number' ? timeout : null,
    max_output_length: typeof length === 'number' ? length : null,
  }
}

/** Whether arguments that are still being written say what is done to which file. */
export function saysFile(text: string): boolean {
  return text.length <= FILE_CHARACTERS_MAX && FILE.test(text)
}

function begunOperation(text: string): JsonObject | null {
  const said = FILE.exec(text)?.[1]
  return said === undefined ? null : parseJsonObject(`{${said}}`)
}

/**
 * The operation of a patch, likewise. A model that writes a patch in place of the arguments has it as the diff of a file without
 * a path, which the client refuses by a result that the model can read.
 */
export function patchOperation(text: string): JsonObject {
  const { type, path, diff } = parseJsonObject(text) ?? begunOperation(text) ?? { diff: text }
  const file = typeof path === 'string' ? path : ''
  if (type === 'delete_file') return { type, path: file }
  return { type: CHANGES.has(type) ? type : 'update_file', path: file, diff: typeof diff === 'string' ? diff : '' }
}
