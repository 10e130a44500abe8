import { invalidRequest } from '../../../contract/errors/errors.ts'
import { isJsonObject, type JsonObject } from '../../../contract/std/jsonObject.ts'
import { isGiven, readBoolean } from '../../json/fields.ts'
import { type ClientTool, sentName } from '../shared/clientTools.ts'
import { customFunction } from '../shared/customTools.ts'
import { isEmptyList, soundSchema } from '../shared/soundSchema.ts'
import { type BuiltIn, builtInOf } from './builtInTools.ts'

/** A tool that the client runs, as the function that the provider gets and as the client knows it. */
export interface FunctionTool {
  /** Its name is the one that providers get. */
  readonly sent: JsonObject
  readonly client: ClientTool
  /** As the response repeats it. */
  readonly echo: JsonObject
}

/**
 * Reads a tool of a request; a namespace is several. Hosted tools run at the provider's prices, so they are none.
 * @throws GatewayError 400 with the field at fault
 */
export function readTool(tool: unknown, field: string): FunctionTool[] {
  if (!isJsonObject(tool)) throw invalidRequest(`${field} must be an object {type: "function", name, ...}.`, field)
  switch (tool['type']) {
    case 'namespace':
      return readNamespace(tool, field)
    case 'function':
    case 'custom':
      return [readNamed(tool, field, '')]
    default: {
      const known = builtInOf(tool)
      return known === null ? [] : [builtIn(known)]
    }
  }
}

function readNamespace(tool: JsonObject, field: string): FunctionTool[] {
  const name = nameOf(tool, field)
  if (!Array.isArray(tool['tools'])) throw invalidRequest(`${field}.tools must be an array.`, `${field}.tools`)
  return (tool['tools'] as unknown[]).flatMap((inner, i) => {
    const innerField = `${field}.tools[${i}]`
    if (!isJsonObject(inner)) throw invalidRequest(`${innerField} must be an object.`, innerField)
    return inner['type'] === 'function' || inner['type'] === 'custom' ? [readNamed(inner, innerField, name)] : []
  })
}

function builtIn({ kind, description, parameters, echo }: BuiltIn): FunctionTool {
  return {
    sent: { name: kind, ...(description !== undefined && { description }), parameters },
    client: { sent: kind, name: kind, kind },
    echo: { type: kind, ...echo },
  }
}

function readNamed(tool: JsonObject, field: string, namespace: string): FunctionTool {
  const name = nameOf(tool, field)
  const { description } = tool
  if (isGiven(description) && typeof description !== 'string') {
    throw invalidRequest(`${field}.description must be a string.`, `${field}.description`)
  }
  const kind = tool['type'] === 'custom' ? 'custom' : 'function'
  const said = kind === 'custom' ? readCustom(tool) : readFunction(tool, field)
  const sent = sentName(name, namespace)
  return {
    sent: { name: sent, ...said.members },
    client: { sent, name, kind, ...(namespace !== '' && { namespace }) },
    echo: { type: kind, name, description: description ?? null, ...said.echo },
  }
}

interface Said {
  readonly members: JsonObject
  readonly echo: JsonObject
}

function readFunction(tool: JsonObject, field: string): Said {
  const { description, parameters } = tool
  const members: JsonObject = isGiven(description) ? { description } : {}
  if (isGiven(parameters) && !isEmptyList(parameters)) {
    if (!isJsonObject(parameters)) throw invalidRequest(`${field}.parameters must be a schema.`, `${field}.parameters`)
    members['parameters'] = soundSchema(parameters)
  }
  if (isGiven(tool['strict'])) members['strict'] = readBoolean(tool, 'strict', `${field}.strict`)
  return { members, echo: { parameters: parameters ?? null, strict: members['strict'] ?? null } }
}

function readCustom({ description, format }: JsonObject): Said {
  return {
    members: customFunction(description, format),
    echo: { format: isJsonObject(format) ? format : { type: 'text' } },
  }
}

function nameOf(tool: JsonObject, field: string): string {
  const { name } = tool
  if (typeof name !== 'string' || name === '') throw invalidRequest(`${field}.name must be a string.`, `${field}.name`)
  return name
}
