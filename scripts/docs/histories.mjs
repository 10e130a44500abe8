import { BLOCK_KINDS, UNKNOWN_BLOCK } from '../../dist/proxy/dialects/anthropic/blockKinds.js'
import { ITEM_KINDS, UNKNOWN_ITEM } from '../../dist/proxy/dialects/responses/itemKinds.js'
import { code, page, sentence, table } from './markdown.mjs'

function kinds(list, unknown) {
  const rows = Object.entries(list).map(([name, { action, becomes }]) => [code(name), action, sentence(becomes)])
  return table(['type', 'action', 'becomes'], [...rows, ['any other', unknown.action, sentence(unknown.becomes)]])
}

/** docs/reference/histories.md: what becomes of the items and blocks of a conversation. */
export function historiesPage() {
  return page('Histories', '`proxy/dialects/responses/itemKinds.ts` and `proxy/dialects/anthropic/blockKinds.ts`', [
    'An agent sends its whole conversation with every request and cannot take anything back. Items that a provider cannot be shown are therefore left out of a history rather than refused.',
    '## Items of `/v1/responses`',
    'read, translate: the provider gets it in its own form. join: its tools join those of the request. skip: it is left out, and so is the output of a call that is left out. refuse: the request is answered with 400 `unsupported_parameter`.',
    kinds(ITEM_KINDS, UNKNOWN_ITEM),
    'Outputs follow their call, whatever is between them in `input`. A file in a message becomes its text where it is the data URL of a text, and goes to models that take PDFs where it is that of one; another one is refused in the newest message of the user, and becomes a note elsewhere.',
    '## Blocks of `/v1/messages`',
    'read: the provider gets it in its own form. text: it becomes a text. join: its tool joins those of the request. skip: it is left out. note: in the newest message of the user it is refused; elsewhere a note such as `[video left out]` takes its place, or nothing in a message of the assistant.',
    kinds(BLOCK_KINDS, UNKNOWN_BLOCK),
    'A message that holds a tool result counts as no newest message, because no user is there to take anything back.',
    '## Parts of `/v1/chat/completions`',
    'Parts of type text, image_url, file and refusal are read, and those of type input_text and output_text as text. Any other part of a message of the assistant is left out; elsewhere a note such as `[input_audio left out]` takes its place, but for the newest message of the user and those after it, and instructions, where it is refused.',
    '## What providers of the Anthropic format refuse',
    'From the clients of every format: texts of nothing but white space are left out, and white space at the end of an answer that is to be continued is too. A history with calls whose request offers no tools gets the least definitions of the tools that it names, at most 128, with `tool_choice` none; the hold covers them.',
    '## Parts that a provider refuses',
    'Some parts of a history are right for one provider and refused by another, with every further request: thinking that another one has signed, as after a change of the model, `reasoning_content` of a chat, or images and PDFs that are too large, damaged or for a model that takes none. A request that a provider refuses for such a part is sent to it once more without. Thinking of the history is left out; if the history ends with results of calls and has a budget for thinking, the answer is made without thinking at all. Notes such as `[image left out]` take the place of images or of PDFs, but for those of the newest message if the user has sent it: the user gets the refusal. A history that ends with a turn of the assistant, an answer that is to be continued (prefill), which models of Anthropic since 4.6, of Mistral and others refuse, is followed by a message of the user that asks for the rest of it. `cache_control` marks that a provider refuses are left out of the whole request; of more than four, providers of the Anthropic format get the first and the last ones in the first place. A refused attempt is not charged.',
    '## Instructions in a conversation',
    'Messages of the role system in a conversation of Messages, which Claude Code and others send, go to providers of the Anthropic format where that format takes them: those before the first turn in `system`, the others after a turn of the user that the assistant answers or that is the last. Elsewhere the user says them. Providers and models that take none in `messages` have `system_messages: first` in the [catalog](catalog-file.md#provider); then the user says all but those before the first turn. Between a call and its result no instruction stays: it follows the result.',
    'A message of the role system with `output_config.effort`, in most cases without content, sets the effort of the request in place of that of the body; the last one counts. Messages without content are left out, but for the newest of the user, which is refused.',
    '## Calls and their results',
    'Providers of every format refuse a history in which a call has no result, or a result no call. Clients that were stopped amid a call, or have cut the beginning of their history, send such a history with every further request. So each call has exactly one result when it goes to a provider, directly after the message that makes it: a missing result becomes the text `There is no result.`, and a result without a call, or a second one, is said by the user. A result without an id answers the first call before it that is open.',
    'Providers of the OpenAI format take images and PDFs from users alone: those of a result follow it in a message of the user.',
    'Clients of chat may also send calls without an id, arguments and results as JSON in place of text, empty lists of calls, tools in the form of Responses or Messages, calls, results and images as blocks of Messages (Cursor does so for some models), and `any` as `tool_choice`; a call as a member and as a block is one call; `cache_control` of a message marks the end of its content; calls of custom tools become calls of functions with one text, `input`; clients of Responses tools and images in the form of a chat. Results of every format may be any JSON, also a list that is none of parts. A turn of the assistant in which nothing is said, or nothing but reasoning, is left out.',
    'A call gets another id for its provider where a later turn has its id as well, as some models number the calls of each turn anew, or where the id is too long for providers of the OpenAI format; the same history always gets the same ids. Arguments that are no JSON of an object, as of a model that was cut off, become its member `arguments`, and an empty text becomes an empty object.',
    'Some providers want a member of a call back: Gemini refuses a call without the signature in its `extra_content`. Clients of chat get that member in the call. Clients of Messages get it in a block of type `redacted_thinking`, and clients of Responses that ask for `reasoning.encrypted_content` in a reasoning item, which they send back as they are. Only providers with `extra_content` in their `extra_members` get it.',
    'Thinking models of DeepSeek and Moonshot refuse a history whose calls lack the reasoning that led to them. Providers with `reasoning_content` in their `extra_members` get it with every message of the assistant once a tool was called: from `reasoning_content` or `reasoning` of a chat, the `thinking` blocks before a call in Messages, and the texts of reasoning items of Responses. Where a client has not kept it, a blank takes its place, so that the conversation goes on.',
  ])
}
