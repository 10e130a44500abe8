import { quoted } from '../../../contract/money/quoted.ts'
import type { JsonObject } from '../../../contract/std/jsonObject.ts'

/** Up to here the texts of messages are put together faster than the serializer prints their objects. */
const SHORT_TEXT_BYTES = 1_024

/**
 * The members of a checked body of a chat as JSON, with the closing brace, as JSON.stringify prints them.
 * @param textBytes of its messages
 */
export function printedMembers(body: JsonObject, textBytes: number): string {
  if (textBytes > SHORT_TEXT_BYTES) return JSON.stringify(body).slice(1)
  let text = ''
  for (const name in body) {
    const value = body[name]
    if (value === undefined) continue
    if (text !== '') text += ','
    if (name === 'messages' && Array.isArray(value)) text += `"messages":${printedMessages(value)}`
    else text += `${quoted(name)}:${JSON.stringify(value)}`
  }
  return `${text}}`
}

function printedMessages(messages: readonly JsonObject[]): string {
  // A list that is joined takes most of the time back that is won here.
  let text = ''
  for (const message of messages) text += text === '' ? printedMessage(message) : `,${printedMessage(message)}`
  return `[${text}]`
}

function printedMessage(message: JsonObject): string {
  const { role, content } = message
  if (typeof role !== 'string' || typeof content !== 'string') return JSON.stringify(message)
  for (const name in message) if (name !== 'role' && name !== 'content') return JSON.stringify(message)
  return `{"role":${quoted(role)},"content":${JSON.stringify(content)}}`
}
