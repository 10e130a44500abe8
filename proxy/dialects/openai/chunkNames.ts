import { NO_REASONS } from '../../../contract/api/finishReason.ts'
import { REASONING_NAMES, TEXT_NAMES } from '../../../contract/api/saidText.ts'

/** The names of the members that scans of chunks and answers look for, as bytes. */
export const NAMES = {
  id: Buffer.from('id'),
  model: Buffer.from('model'),
  usage: Buffer.from('usage'),
  choices: Buffer.from('choices'),
  created: Buffer.from('created'),
  error: Buffer.from('error'),
  aside: Buffer.from('x_groq'),
  baseResponse: Buffer.from('base_resp'),
  receipt: Buffer.from('receipt'),
  obfuscation: Buffer.from('obfuscation'),
  object: Buffer.from('object'),
  delta: Buffer.from('delta'),
  text: Buffer.from('text'),
  message: Buffer.from('message'),
  role: Buffer.from('role'),
  assistant: Buffer.from('assistant'),
  finishReason: Buffer.from('finish_reason'),
  toolCalls: Buffer.from('tool_calls'),
  index: Buffer.from('index'),
  content: Buffer.from('content'),
  annotations: Buffer.from('annotations'),
  arguments: Buffer.from('arguments'),
  name: Buffer.from('name'),
  type: Buffer.from('type'),
  reasoning: Buffer.from('reasoning'),
  reasoningContent: Buffer.from('reasoning_content'),
  reasoningDetails: Buffer.from('reasoning_details'),
  refusal: Buffer.from('refusal'),
}
/** The reasons why a message without calls ends, and a text, in the words of the format. */
export const TEXT_REASONS = ['stop', 'length', 'content_filter'].map((reason) => Buffer.from(reason))
/** The words in place of a reason where there is none. */
export const NO_REASON_NAMES = NO_REASONS.map((word) => Buffer.from(word))
/** The members of a tool call with output of the model. */
export const CALL_OUTPUT = ['name', 'arguments', 'input', 'parameters'].map((name) => Buffer.from(name))
/** The members of a function with its arguments under a name that clients of chat completions do not look for. */
export const ODD_ARGUMENTS = ['input', 'parameters'].map((name) => Buffer.from(name))
/** The members of a delta with output that clients of chat completions do not look for. */
export const ODD_NAMES = [...REASONING_NAMES, ...TEXT_NAMES, 'function_call', 'tool_calls']
  .filter((name) => !['content', 'reasoning', 'reasoning_content', 'reasoning_details'].includes(name))
  .map((name) => Buffer.from(name))
