import { createHash } from 'node:crypto'

/** The tools without a name that a client runs itself. */
export type BuiltInKind = 'tool_search' | 'local_shell' | 'shell' | 'apply_patch'

/** The kind of a tool for the client: a function, or one of the kinds that providers get as functions. */
export type ClientToolKind = 'function' | 'custom' | BuiltInKind

/** A tool that its client knows by another name, or as another kind, than the provider. */
export interface ClientTool {
  /** The name of the function that the provider gets. */
  readonly sent: string
  readonly name: string
  /** The group of tools that it belongs to in the client's format; absent for none. */
  readonly namespace?: string
  readonly kind: ClientToolKind
  /** A client of chats wants the input of this custom tool as the arguments of a function; absent is false. */
  readonly isCalledAsFunction?: boolean
}

/** The longest name that providers of the OpenAI dialect take, in characters. */
const NAME_CHARACTERS_MAX = 64
const NAME = /^[\w-]+$/
const CALLED_NAME = /^[A-Za-z0-9_-]{1,128}$/
const NOT_IN_NAMES = /[^\w-]/g
const HASH_CHARACTERS = 8
const NAMESPACE_JOINT = '__'

/**
 * The name under which a provider gets a tool: the client's own where every provider takes it, else one that is shortened,
 * with a hash of the whole name. It depends on nothing else, so that the calls of a history are named like the tools.
 * @param namespace the group that the client has the tool in; '' for none
 */
export function sentName(name: string, namespace = ''): string {
  const joint = namespace === '' || namespace.endsWith(NAMESPACE_JOINT) ? '' : NAMESPACE_JOINT
  const whole = namespace + joint + name
  if (whole.length <= NAME_CHARACTERS_MAX && NAME.test(whole)) return whole
  const hash = createHash('sha256').update(whole).digest('hex').slice(0, HASH_CHARACTERS)
  const start = whole.replace(NOT_IN_NAMES, '_').slice(0, NAME_CHARACTERS_MAX - HASH_CHARACTERS - 1)
  return `${start}_${hash}`
}

/** The name of a tool for providers of the Anthropic format, which takes longer ones. A model may have made it up. */
export function calledName(name: string): string {
  return CALLED_NAME.test(name) ? name : sentName(name)
}

/** Whether the client's name or kind of a tool differs from the provider's. */
export function differs({ sent, name, namespace, kind }: ClientTool): boolean {
  return sent !== name || namespace !== undefined || kind !== 'function'
}

/** Whether a tool is one that providers get as a function, and its client has as something else. */
export function isOtherKind({ kind }: ClientTool): boolean {
  return kind !== 'function'
}

/**
 * The tool that a provider's call means.
 * @param tools those of the request that differ; absent for none
 * @param sent the name in the provider's answer, which is the client's own where no tool has it
 */
export function clientTool(tools: readonly ClientTool[] | undefined, sent: string): ClientTool {
  return tools?.find((tool) => tool.sent === sent) ?? { sent, name: sent, kind: 'function' }
}
