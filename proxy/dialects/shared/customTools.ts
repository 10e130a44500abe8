import { isJsonObject, type JsonObject, parseJsonObject } from '../../../contract/std/jsonObject.ts'

/** The beginning of arguments with a text as their only member. */
const INPUT_START = /^\s*\{\s*"input"\s*:\s*"/
const HALF_ESCAPE = /\\(?:u[0-9a-f]{0,3})?$/i

/** The parameters of a function whose only argument is a text. */
export const TEXT_INPUT: JsonObject = {
  type: 'object',
  properties: { input: { type: 'string', description: 'The whole input of the tool, as free text.' } },
  required: ['input'],
  additionalProperties: false,
}

/**
 * The members of the function that stands for a custom tool, without its name. A grammar binds the model at OpenAI alone; for
 * other models it says what the text has to look like.
 * @param format as in a request of responses, or with the grammar one level below, as in a chat
 */
export function customFunction(description: unknown, format: unknown): JsonObject {
  const said = isJsonObject(format) ? format : {}
  const { definition, syntax } = isJsonObject(said['grammar']) ? said['grammar'] : said
  const kind = typeof syntax === 'string' ? `${syntax} ` : ''
  const isBound = typeof definition === 'string' && definition !== ''
  const demand = isBound ? [`The input has to match this ${kind}grammar:\n${definition}`] : []
  const texts = [...(typeof description === 'string' ? [description] : []), ...demand]
  return { ...(texts.length > 0 && { description: texts.join('\n\n') }), parameters: TEXT_INPUT }
}

/** The beginning of a text whose JSON was cut off; null for any other. */
function cutInput(text: string): string | null {
  const start = INPUT_START.exec(text)?.[0]
  if (start === undefined) return null
  const began = text.slice(start.length)
  return inputIn(began) ?? inputIn(began.replace(HALF_ESCAPE, ''))
}

function inputIn(began: string): string | null {
  return textOf(parseJsonObject(`{"input":"${began}"}`)?.['input'])
}

function textOf(value: unknown): string | null {
  return typeof value === 'string' ? value : null
}

/** The arguments of the function for an input of a custom tool. */
export function customArguments(input: string): string {
  return JSON.stringify({ input })
}

/**
 * The text for a custom tool in the arguments of the function that stood for it. Some models write the text itself, or give
 * its member another name.
 */
export function customInput(text: string): string {
  const given = parseJsonObject(text)
  if (given === null) return cutInput(text) ?? text
  const { input } = given
  if (typeof input === 'string') return input
  const [only, ...others] = Object.values(given)
  if (only === undefined) return ''
  return typeof only === 'string' && others.length === 0 ? only : text
}
