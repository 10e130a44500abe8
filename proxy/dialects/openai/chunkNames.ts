/** The names of the members that a scan of chunks looks for, as bytes. */
export const NAMES = {
  id: Buffer.from('id'),
  model: Buffer.from('model'),
  usage: Buffer.from('usage'),
  choices: Buffer.from('choices'),
  created: Buffer.from('created'),
  error: Buffer.from('error'),
  receipt: Buffer.from('receipt'),
  object: Buffer.from('object'),
  delta: Buffer.from('delta'),
  text: Buffer.from('text'),
  role: Buffer.from('role'),
  finishReason: Buffer.from('finish_reason'),
  toolCalls: Buffer.from('tool_calls'),
}
/** The members of a tool call with output of the model. */
export const CALL_OUTPUT = ['name', 'arguments', 'input'].map((name) => Buffer.from(name))
