import { contentOf } from '../../proxy/traces/thread/content/contentOf.ts'

const BYTES_MAX = 65_536

/** A content that was captured, and how its request was answered. */
export interface Captured {
  readonly input?: string
  readonly output?: string
  readonly streamed?: boolean
  readonly errorCode?: string | null
  readonly bytesMax?: number
}

/** Text as it is captured: a character for each byte. */
export const rawText = (value: string): string => Buffer.from(value).toString('latin1')
/** An answer in one piece as it is captured: without the members after this one. */
export const answerHead = (answer: object): string => JSON.stringify(answer).slice(0, -1)
const read = (json: string): unknown => (json === '' ? undefined : JSON.parse(json))

/** The content of a span, parsed. */
export function spanContent(captured: Captured) {
  const { input = '', output = '', streamed = false, errorCode = null, bytesMax = BYTES_MAX } = captured
  const asked = { input: rawText(input), output: rawText(output), isCut: false }
  const seen = contentOf(asked, { streamed, errorCode }, bytesMax)
  return {
    instructions: read(seen.instructions),
    input: read(seen.input),
    output: read(seen.output),
    isTruncated: seen.isTruncated,
  }
}

export const textPart = (content: string) => ({ type: 'text', content })
export const callPart = (id: string, name: string, args: unknown) => ({ type: 'tool_call', id, name, arguments: args })
