/** The treatment of an item of a conversation. */
export type ItemAction = 'read' | 'translate' | 'join' | 'skip' | 'refuse'

/** A kind of items in `input`. */
export interface ItemKind {
  readonly action: ItemAction
  /** The provider's text or item for it, or why it gets none. */
  readonly becomes: string
}

const call = (name: string): ItemKind => ({ action: 'translate', becomes: `a call of the function ${name}` })
const output: ItemKind = { action: 'translate', becomes: 'the output of its call' }
const summary: ItemKind = {
  action: 'read',
  becomes: 'a message of the user with the summary, if its encrypted content is of this gateway; else nothing',
}
const hosted = (what: string): ItemKind => ({ action: 'skip', becomes: `${what} that another provider ran itself` })

/**
 * The kinds of items that clients send, and the treatment of each. An agent sends its whole history with every request and
 * cannot take anything back, so what a provider cannot be shown is left out, and the conversation goes on.
 */
export const ITEM_KINDS: Readonly<Record<string, ItemKind>> = {
  message: { action: 'read', becomes: 'a message' },
  agent_message: { action: 'read', becomes: 'a message of the user' },
  function_call: { action: 'read', becomes: 'a tool call' },
  function_call_output: { action: 'read', becomes: 'the output of its call' },
  custom_tool_call: { action: 'translate', becomes: 'a call of a function with one text, `input`' },
  custom_tool_call_output: output,
  local_shell_call: call('`local_shell`'),
  local_shell_call_output: output,
  shell_call: call('`shell`'),
  shell_call_output: output,
  apply_patch_call: call('`apply_patch`'),
  apply_patch_call_output: output,
  tool_search_call: call('`tool_search`, if the client ran the search'),
  tool_search_output: { action: 'join', becomes: 'the output of its call; the tools that were found join `tools`' },
  additional_tools: { action: 'join', becomes: 'tools, which join `tools`' },
  compaction: summary,
  compaction_summary: summary,
  context_compaction: summary,
  reasoning: {
    action: 'read',
    becomes:
      'thinking, if its encrypted content is of this gateway, for models that think at providers of the Anthropic format; its texts, or else the words in that content, for providers that want reasoning back; else nothing',
  },
  configuration_update: { action: 'skip', becomes: 'a note of the client' },
  web_search_call: hosted('a search'),
  file_search_call: hosted('a search'),
  code_interpreter_call: hosted('code'),
  image_generation_call: hosted('an image'),
  computer_call: hosted('an action'),
  computer_call_output: { action: 'skip', becomes: 'the output of a call that is left out' },
  mcp_call: hosted('a call'),
  mcp_list_tools: hosted('a list of tools'),
  mcp_approval_request: hosted('a question'),
  mcp_approval_response: { action: 'skip', becomes: 'the answer to a question that is left out' },
  compaction_trigger: {
    action: 'refuse',
    becomes:
      'as the last item, a request for a summary, which the response has as its one item; elsewhere it is refused',
  },
  item_reference: { action: 'refuse', becomes: 'a reference to an item, but nothing is stored' },
}

/** Kinds that the table does not have are left out, with their outputs. */
export const UNKNOWN_ITEM: ItemKind = { action: 'skip', becomes: 'an item of a kind that is not known' }

/** The kind of an item, by its type. */
export function itemKind(type: string): ItemKind {
  return Object.hasOwn(ITEM_KINDS, type) ? (ITEM_KINDS[type] ?? UNKNOWN_ITEM) : UNKNOWN_ITEM
}
