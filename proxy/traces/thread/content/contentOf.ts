import { isJsonObject, type JsonObject, parseJsonObject } from '../../../../contract/std/jsonObject.ts'
import { readJsonPrefix } from '../../../../contract/std/jsonPrefix.ts'
import type { AccessEntry } from '../../../metrics/accessLog.ts'
import { cutToFit } from './cutToFit.ts'
import { GatheredStream } from './gatheredStream.ts'
import { askedIn } from './inputMessages.ts'
import { answeredIn } from './outputMessages.ts'
import type { RawContent } from './rawContent.ts'

/** The content of a request in its attributes, which are JSON; '' for none. */
export interface SpanContent {
  readonly instructions: string
  readonly input: string
  readonly output: string
  /** Some of it is missing. */
  readonly isTruncated: boolean
}

/** How a request was answered. */
type Answered = Pick<AccessEntry, 'streamed' | 'errorCode'>

const NO_INPUT = { instructions: '', input: '', isTruncated: false } as const
const NO_OUTPUT = { text: '', isCut: false } as const
/** Values that nest deeper in an answer that was cut are not read. */
const DEPTH_MAX = 128

/**
 * The content of a request by the conventions. Nothing that a client or a provider has sent makes it fail: content that cannot be
 * read is left out.
 * @param bytesMax of the input and of the output: a longer input is left out, a longer output is cut
 */
export function contentOf(raw: RawContent, answered: Answered | null, bytesMax: number): SpanContent {
  const asked = orElse(() => inputOf(raw.input, bytesMax), NO_INPUT)
  const output = orElse(() => outputOf(raw.output, answered, bytesMax), NO_OUTPUT)
  return {
    instructions: asked.instructions,
    input: asked.input,
    output: output.text,
    isTruncated: raw.isCut || asked.isTruncated || output.isCut,
  }
}

function inputOf(raw: string, bytesMax: number): Omit<SpanContent, 'output'> {
  const body = parseJsonObject(bytesOf(raw).toString('utf8'))
  if (body === null) return NO_INPUT
  const asked = askedIn(body)
  const [instructions, input] = [listText(asked.instructions), listText(asked.messages)]
  const isTruncated = Buffer.byteLength(instructions) + Buffer.byteLength(input) > bytesMax
  return isTruncated ? { ...NO_INPUT, isTruncated } : { instructions, input, isTruncated }
}

function outputOf(raw: string, answered: Answered | null, bytesMax: number): { text: string; isCut: boolean } {
  const answer = answered?.streamed === true ? GatheredStream.read(bytesOf(raw)) : wholeAnswer(bytesOf(raw).toString())
  const messages = answeredIn(answer, (answered?.errorCode ?? '') === '' ? 'unknown' : 'error')
  return messages.length === 0 ? NO_OUTPUT : cutToFit(messages, bytesMax)
}

/** An answer without its last members and the brace that ends it, or one that was cut anywhere. */
function wholeAnswer(text: string): JsonObject {
  const whole = parseJsonObject(`${text}}`)
  if (whole !== null) return whole
  const part = readJsonPrefix(text, DEPTH_MAX)
  return isJsonObject(part) ? part : {}
}

function bytesOf(raw: string): Buffer {
  return Buffer.from(raw, 'latin1')
}

function listText(list: readonly unknown[]): string {
  return list.length === 0 ? '' : JSON.stringify(list)
}

function orElse<Value>(read: () => Value, other: Value): Value {
  try {
    return read()
  } catch {
    return other
  }
}
