import { invalidRequest } from '../../../contract/errors/errors.ts'
import type { JsonObject } from '../../../contract/std/jsonObject.ts'
import type { Form } from '../../upload/form.ts'

const NUMBER = /^-?[0-9]{1,15}(?:\.[0-9]{1,15})?$/
/** Fields that every form may have. Python writes True and False. */
const BOOLEANS = ['stream', 'batch']
const MAX_PRICE = /^\[max_price\]\[(prompt|completion|input|output)\]$/

/**
 * The fields of a form as members of a JSON body. Absent fields are left out, and empty ones too unless the model or the
 * prompt decides on them.
 * @throws GatewayError 400 for an invalid number
 */
export function formObject(
  form: Form,
  names: { readonly texts: readonly string[]; readonly numbers: readonly string[] },
): JsonObject {
  const body: JsonObject = {}
  for (const name of names.texts) {
    const text = form.text(name)
    if (text !== null && text !== '') body[name] = text
  }
  for (const name of names.numbers) {
    const text = form.text(name)?.trim() ?? ''
    if (text === '') continue
    if (!NUMBER.test(text)) throw invalidRequest(`${name} must be a number.`, name)
    body[name] = Number(text)
  }
  for (const name of BOOLEANS) {
    const text = form.text(name)
    if (text !== null && text !== '') body[name] = booleanOf(text.toLowerCase())
  }
  return body
}

/**
 * The member `provider` of a form: a field with a JSON object, or fields such as `provider[allow_retention]`, which is
 * how clients write members of an object.
 * @returns undefined when there is neither
 * @throws GatewayError 400
 */
export function formProvider(form: Form): unknown {
  const text = form.text('provider')
  if (text !== null && text !== '') return parsed(text)
  const members = form.below('provider[').map(([rest, value]): [string, string] => [`[${rest}`, value])
  if (members.length === 0) return undefined
  const provider: JsonObject = {}
  for (const [name, value] of members) {
    const price = MAX_PRICE.exec(name)?.[1]
    if (price !== undefined)
      provider['max_price'] = { ...(provider['max_price'] as JsonObject | undefined), [price]: value }
    else if (name === '[allow_retention]') provider['allow_retention'] = booleanOf(value)
  }
  return provider
}

function booleanOf(text: string): unknown {
  return text === 'true' ? true : text === 'false' ? false : text
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw invalidRequest('provider must be a JSON object.', 'provider')
  }
}
