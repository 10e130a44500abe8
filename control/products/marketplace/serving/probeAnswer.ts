import type { Dialect } from '../../../../contract/catalog/dialects.ts'
import type { ProbeAnswer } from './compareAnswers.ts'

type Read = (value: unknown) => ProbeAnswer | undefined

/** How answers of each dialect are read: in one piece, and the events of a stream. */
const READERS: Readonly<
  Record<Dialect, { whole: Read; events: (events: readonly unknown[]) => ProbeAnswer | undefined }>
> = {
  openai: { whole: readOpenai, events: joinOpenai },
  anthropic: { whole: readAnthropic, events: joinAnthropic },
}

/** Reads the body of an answer, in one piece or as a stream of events. @returns undefined for what is neither */
export function readAnswer(dialect: Dialect, body: string): ProbeAnswer | undefined {
  const { whole, events } = READERS[dialect]
  return body.trimStart().startsWith('{') ? readWhole(body, whole) : events(eventsIn(body))
}

function readWhole(body: string, read: Read): ProbeAnswer | undefined {
  try {
    return read(JSON.parse(body))
  } catch (error) {
    if (error instanceof SyntaxError) return undefined
    throw error
  }
}

/** The values of the events that have one; others, such as [DONE], are left out. */
function eventsIn(body: string): unknown[] {
  return body.split(/\r?\n/).flatMap((line) => {
    if (!line.startsWith('data:')) return []
    try {
      return [JSON.parse(line.slice('data:'.length)) as unknown]
    } catch {
      return []
    }
  })
}

function joinOpenai(events: readonly unknown[]): ProbeAnswer | undefined {
  const texts = events.map((event) => memberAt(event, 'choices', 0, 'delta', 'content'))
  const usage = events.map((event) => memberAt(event, 'usage')).findLast((found) => found != null)
  if (!events.some((event) => memberAt(event, 'choices', 0) !== undefined)) return undefined
  return answerOf(texts, countAt(usage, 'prompt_tokens'), countAt(usage, 'completion_tokens'))
}

function joinAnthropic(events: readonly unknown[]): ProbeAnswer | undefined {
  const start = events.find((event) => memberAt(event, 'type') === 'message_start')
  if (start === undefined) return undefined
  const usages = events.filter((event) => memberAt(event, 'type') === 'message_delta')
  const texts = events.map((event) => memberAt(event, 'delta', 'text'))
  const output = usages
    .map((event) => countAt(memberAt(event, 'usage'), 'output_tokens'))
    .findLast((found) => found !== null)
  return answerOf(texts, countAt(memberAt(start, 'message', 'usage'), 'input_tokens'), output ?? null)
}

function readOpenai(value: unknown): ProbeAnswer | undefined {
  const text = memberAt(value, 'choices', 0, 'message', 'content')
  if (typeof text !== 'string') return undefined
  const usage = memberAt(value, 'usage')
  return answerOf([text], countAt(usage, 'prompt_tokens'), countAt(usage, 'completion_tokens'))
}

function readAnthropic(value: unknown): ProbeAnswer | undefined {
  const content = memberAt(value, 'content')
  if (!Array.isArray(content)) return undefined
  const usage = memberAt(value, 'usage')
  const texts = content.map((block: unknown) => memberAt(block, 'text'))
  return answerOf(texts, countAt(usage, 'input_tokens'), countAt(usage, 'output_tokens'))
}

function answerOf(texts: readonly unknown[], promptTokens: number | null, outputTokens: number | null): ProbeAnswer {
  return { text: texts.filter((part) => typeof part === 'string').join(''), promptTokens, outputTokens }
}

function memberAt(value: unknown, ...path: readonly (string | number)[]): unknown {
  let found = value
  for (const name of path) {
    if (typeof found !== 'object' || found === null) return undefined
    found = Reflect.get(found, name)
  }
  return found
}

function countAt(value: unknown, name: string): number | null {
  const count = memberAt(value, name)
  return typeof count === 'number' && Number.isSafeInteger(count) && count >= 0 ? count : null
}
