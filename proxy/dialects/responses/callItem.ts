import { type JsonObject, parseJsonObject } from '../../../contract/std/jsonObject.ts'
import type { ClientTool, ClientToolKind } from '../shared/clientTools.ts'
import { customInput } from '../shared/customTools.ts'
import { patchOperation, saysFile, shellAction } from './builtInCalls.ts'
import type { ItemIds, ItemStatus, OutputItem } from './responseItems.ts'

interface Form {
  readonly type: string
  readonly prefix: 'fc' | 'ctc' | 'tsc' | 'lsh' | 'sh' | 'apc'
  /** The event that carries pieces of the call's content, without `.delta`; null for none. */
  readonly event: string | null
  /** The member with the content, and what it is for a model's arguments. */
  readonly content: (text: string) => JsonObject
  /** The format has no status for such a call that was cut off. */
  readonly neverIncomplete?: true
}

const FORMS: Readonly<Record<ClientToolKind, Form>> = {
  function: {
    type: 'function_call',
    prefix: 'fc',
    event: 'response.function_call_arguments',
    content: (text) => ({ arguments: text }),
  },
  custom: {
    type: 'custom_tool_call',
    prefix: 'ctc',
    event: 'response.custom_tool_call_input',
    content: (text) => ({ input: customInput(text) }),
  },
  tool_search: {
    type: 'tool_search_call',
    prefix: 'tsc',
    event: null,
    content: (text) => ({ execution: 'client', arguments: parseJsonObject(text) ?? {} }),
  },
  local_shell: {
    type: 'local_shell_call',
    prefix: 'lsh',
    event: null,
    content: (text) => ({ action: { command: [], env: {}, ...parseJsonObject(text), type: 'exec' } }),
  },
  shell: {
    type: 'shell_call',
    prefix: 'sh',
    event: null,
    content: (text) => ({ action: shellAction(text), environment: { type: 'local' } }),
  },
  apply_patch: {
    type: 'apply_patch_call',
    prefix: 'apc',
    event: null,
    content: (text) => ({ operation: patchOperation(text) }),
    neverIncomplete: true,
  },
}

/** A call that the model wants the client to make, as an item of the kind that the client has sent the tool as. */
export class CallItem implements OutputItem {
  readonly id: string
  readonly index: number
  /** As the model has written them, so far. */
  arguments = ''
  private readonly callId: string
  private readonly tool: ClientTool
  private readonly form: Form

  /** @param callId the id that the client sends back with the call's output; '' to generate one */
  constructor(ids: ItemIds, index: number, callId: string, tool: ClientTool) {
    this.form = FORMS[tool.kind]
    this.id = ids.of(this.form.prefix, index)
    this.index = index
    this.callId = callId === '' ? ids.of('call', index) : callId
    this.tool = tool
  }

  /** Whether enough is known for the event that begins it: some clients read the operation on a file from that. */
  get isBegun(): boolean {
    return this.tool.kind !== 'apply_patch' || saysFile(this.arguments)
  }

  /** Whether pieces of the arguments are the pieces that the client gets; else it gets the whole at the end. */
  get passesPieces(): boolean {
    return this.tool.kind === 'function'
  }

  /** The event that carries the content, without `.delta` and `.done`; null where only the item does. */
  get event(): string | null {
    return this.form.event
  }

  /** The content of the item as the members of its last event, and as one piece. */
  get content(): { readonly members: string; readonly piece: string } {
    const members = { name: this.tool.name, ...this.form.content(this.arguments) }
    const piece = this.tool.kind === 'custom' ? customInput(this.arguments) : this.arguments
    return { members: JSON.stringify(members).slice(1, -1), piece }
  }

  json(status: ItemStatus): string {
    const { type, content, neverIncomplete } = this.form
    const { name, namespace, kind } = this.tool
    const named = kind === 'function' || kind === 'custom' ? { name } : {}
    return JSON.stringify({
      type,
      id: this.id,
      status: status === 'incomplete' && neverIncomplete ? 'in_progress' : status,
      call_id: this.callId,
      ...named,
      ...(namespace !== undefined && { namespace }),
      ...content(this.arguments),
    })
  }
}
