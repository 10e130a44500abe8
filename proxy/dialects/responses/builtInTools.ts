import { isJsonObject, type JsonObject } from '../../../contract/std/jsonObject.ts'
import type { BuiltInKind } from '../shared/clientTools.ts'
import { TEXT_INPUT } from '../shared/customTools.ts'

/** A tool without a name that the client runs, as the function that the provider gets under the name of its kind. */
export interface BuiltIn {
  readonly kind: BuiltInKind
  readonly description?: string
  readonly parameters: JsonObject
  /** The members of the tool that the response repeats, beside its type. */
  readonly echo: JsonObject
}

const COMMAND: JsonObject = {
  type: 'object',
  properties: {
    command: { type: 'array', items: { type: 'string' }, description: 'The command and its arguments.' },
    working_directory: { type: 'string' },
    timeout_ms: { type: 'number' },
  },
  required: ['command'],
}

const COMMANDS: JsonObject = {
  type: 'object',
  properties: {
    commands: { type: 'array', items: { type: 'string' }, description: 'Lines for the shell, each of which is run.' },
    timeout_ms: { type: 'integer', description: 'How long the commands may take, in milliseconds.' },
    max_output_length: { type: 'integer', description: 'The most characters that come back of a command.' },
  },
  required: ['commands'],
}

const DIFF =
  'For create_file and update_file, the change without a header. Lines that begin with a space stay, lines with - are ' +
  'removed, and lines with + are added. @@ and a line of the file, above a section, say where the section is. In a new ' +
  'file every line begins with +.'

const OPERATION: JsonObject = {
  type: 'object',
  properties: {
    type: { type: 'string', enum: ['create_file', 'update_file', 'delete_file'] },
    path: { type: 'string', description: 'The path of the file.' },
    diff: { type: 'string', description: DIFF },
  },
  required: ['type', 'path'],
}

/** A tool of a request that its client runs and that has no name; null for any other, such as a hosted one. */
export function builtInOf(tool: JsonObject): BuiltIn | null {
  switch (tool['type']) {
    case 'tool_search':
      return searchOf(tool)
    case 'local_shell':
      return {
        kind: 'local_shell',
        ...described(tool, 'Runs a command on the user’s machine.'),
        parameters: COMMAND,
        echo: {},
      }
    case 'shell':
      return shellOf(tool)
    case 'apply_patch':
      return {
        kind: 'apply_patch',
        description: 'Creates, changes or deletes a file of the user’s.',
        parameters: OPERATION,
        echo: {},
      }
    default:
      return null
  }
}

function searchOf(tool: JsonObject): BuiltIn | null {
  const { execution } = tool
  if (execution !== 'client') return null
  const parameters = isJsonObject(tool['parameters']) ? tool['parameters'] : TEXT_INPUT
  const text = described(tool)
  return { kind: 'tool_search', ...text, parameters, echo: { execution, parameters, ...text } }
}

/** A shell of the user's machine; that of a container is run by its provider. */
function shellOf({ environment }: JsonObject): BuiltIn | null {
  const place = isJsonObject(environment) ? environment : { type: 'local' }
  if (place['type'] !== 'local') return null
  const description = ['Runs commands in a shell on the user’s machine.', ...skillsOf(place['skills'])].join('\n')
  return { kind: 'shell', description, parameters: COMMANDS, echo: { environment: place } }
}

function skillsOf(skills: unknown): string[] {
  const known = Array.isArray(skills) ? skills.filter(isJsonObject) : []
  const lines = known.map(({ name, description, path }) => `- ${name}: ${description} (${path})`)
  return lines.length === 0 ? [] : ['Skills of this machine, to be read before they are used:', ...lines]
}

function described({ description }: JsonObject, otherwise?: string): { readonly description?: string } {
  const text = typeof description === 'string' ? description : otherwise
  return text === undefined ? {} : { description: text }
}
