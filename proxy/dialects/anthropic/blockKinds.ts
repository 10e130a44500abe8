import type { JsonObject } from '../../../contract/std/jsonObject.ts'
import { textOf } from '../shared/text.ts'

/** The treatment of a block of a conversation. */
export type BlockAction = 'read' | 'text' | 'join' | 'skip' | 'note'

/** A kind of blocks in a message. */
export interface BlockKind {
  readonly action: BlockAction
  /** The provider's text or block for it, or why it gets none. */
  readonly becomes: string
  /** The text in its place, for the action `text`. */
  readonly text?: (block: JsonObject) => string
}

const SERVER_RUN: BlockKind = { action: 'skip', becomes: 'a call that another provider ran itself, or its result' }

/**
 * The kinds of blocks that clients send, and the treatment of each. An agent sends its whole history with every request and
 * cannot take anything back, so what a provider cannot be shown is left out, and the conversation goes on.
 */
export const BLOCK_KINDS: Readonly<Record<string, BlockKind>> = {
  text: { action: 'read', becomes: 'a text' },
  image: { action: 'read', becomes: 'an image of the web or in base64' },
  document: {
    action: 'read',
    becomes: 'a text document, or a PDF where the model takes it; one that is stored elsewhere becomes a note',
  },
  tool_use: { action: 'read', becomes: 'a tool call' },
  tool_result: { action: 'read', becomes: 'the result of its call' },
  thinking: {
    action: 'read',
    becomes:
      "thinking, with a provider's signature for providers of this format; its text for other providers that want reasoning back",
  },
  redacted_thinking: { action: 'read', becomes: 'the same, only for providers of this format' },
  search_result: { action: 'text', becomes: 'its title, source and content', text: searchResult },
  tool_reference: { action: 'text', becomes: 'the name of the tool', text: toolReference },
  compaction: { action: 'text', becomes: 'the summary', text: ({ content }) => textOf(content) },
  connector_text: {
    action: 'text',
    becomes: 'its text',
    text: ({ text, connector_text: said }) => textOf(text ?? said),
  },
  mid_conv_system: { action: 'text', becomes: 'its text', text: ({ text, content }) => textOf(text ?? content) },
  tool_addition: { action: 'join', becomes: 'a tool, which joins `tools` where it is defined' },
  tool_removal: { action: 'skip', becomes: 'the name of a tool that is not to be called any more' },
  server_tool_use: SERVER_RUN,
  web_search_tool_result: SERVER_RUN,
  web_fetch_tool_result: SERVER_RUN,
  advisor_tool_result: SERVER_RUN,
  code_execution_tool_result: SERVER_RUN,
  bash_code_execution_tool_result: SERVER_RUN,
  text_editor_code_execution_tool_result: SERVER_RUN,
  tool_search_tool_result: SERVER_RUN,
  mcp_tool_use: SERVER_RUN,
  mcp_tool_result: SERVER_RUN,
  fallback: { action: 'skip', becomes: 'a note of the server' },
}

/** Kinds that the table does not have. */
export const UNKNOWN_BLOCK: BlockKind = { action: 'note', becomes: 'a note that it was left out' }

/** The kind of a block, by its type. */
export function blockKind(type: unknown): BlockKind {
  return typeof type === 'string' && Object.hasOwn(BLOCK_KINDS, type)
    ? (BLOCK_KINDS[type] ?? UNKNOWN_BLOCK)
    : UNKNOWN_BLOCK
}

function searchResult({ title, source, content }: JsonObject): string {
  return [title, source, content]
    .map(textOf)
    .filter((text) => text !== '')
    .join('\n')
}

function toolReference({ tool_name: name, name: also }: JsonObject): string {
  return `Tool that can be called now: ${textOf(name ?? also)}`
}
