import { invalidRequest } from '../../../contract/errors/errors.ts'
import { isJsonObject, type JsonObject } from '../../../contract/std/jsonObject.ts'
import { isGiven, readBoolean, readName, readWord } from '../../json/fields.ts'
import type { DialectLimits } from '../limits.ts'

/** How the text of the answer is to be: as a chat has it, and as the response repeats it. */
export interface TextOptions {
  /** response_format and verbosity of a chat. */
  readonly forward: JsonObject
  readonly echo: JsonObject
}

/**
 * Reads `text`: its format, which may be a JSON schema, and its verbosity.
 * @throws GatewayError 400 with the field at fault
 */
export function readTextOptions(text: unknown, limits: DialectLimits): TextOptions {
  if (!isGiven(text)) return { forward: {}, echo: { format: { type: 'text' } } }
  if (!isJsonObject(text)) throw invalidRequest('text must be an object.', 'text')
  const format = readFormat(text['format'], limits)
  const verbosity = readWord(text['verbosity'], 'text.verbosity')
  const forward: JsonObject = { ...format.forward }
  const echo: JsonObject = { format: format.echo }
  if (verbosity !== null) {
    forward['verbosity'] = verbosity
    echo['verbosity'] = verbosity
  }
  return { forward, echo }
}

function readFormat(format: unknown, limits: DialectLimits): TextOptions {
  if (!isGiven(format)) return { forward: {}, echo: { type: 'text' } }
  const type = isJsonObject(format) ? format['type'] : undefined
  if (type === 'text') return { forward: {}, echo: { type } }
  if (type === 'json_object') return { forward: { response_format: { type } }, echo: { type } }
  if (type === 'json_schema' && isJsonObject(format)) return readSchema(format, limits)
  throw invalidRequest('text.format.type must be text, json_object or json_schema.', 'text.format.type')
}

function readSchema(format: JsonObject, limits: DialectLimits): TextOptions {
  const name = readName(format, 'name', limits, 'text.format.name')
  const { schema, description } = format
  if (name === null) throw invalidRequest('text.format.name is missing; it must be a string.', 'text.format.name')
  if (!isJsonObject(schema)) throw invalidRequest('text.format.schema must be a JSON schema.', 'text.format.schema')
  if (isGiven(description) && typeof description !== 'string') {
    throw invalidRequest('text.format.description must be a string.', 'text.format.description')
  }
  const strict = isGiven(format['strict']) ? readBoolean(format, 'strict', 'text.format.strict') : null
  const asked = { name, ...(isGiven(description) && { description }), schema, ...(strict !== null && { strict }) }
  return {
    forward: { response_format: { type: 'json_schema', json_schema: asked } },
    echo: { type: 'json_schema', name, description: description ?? null, schema, strict: strict ?? false },
  }
}
