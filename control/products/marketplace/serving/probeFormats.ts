import type { Dialect } from '../../../../contract/catalog/dialects.ts'
import type { ProbeAnswer } from './compareAnswers.ts'
import type { Comparison } from './comparison.ts'

type Read = (value: unknown) => ProbeAnswer | undefined

/** A model of a provider, as the body of a comparison names it. */
interface Asked {
  readonly dialect: Dialect
  /** The provider's own name of it. */
  readonly model: string
  /** The name of the output limit that the provider knows; '' for the comparison's. */
  readonly maxTokensField: string
}

interface ProbeFormat {
  readonly body: (asked: Asked, comparison: Comparison) => Record<string, unknown>
  /** Reads an answer in one piece. */
  readonly whole: Read
  /** Reads the events of a stream. */
  readonly events: (events: readonly unknown[]) => ProbeAnswer | undefined
}

/** How models of each dialect are asked, and how their answers are read. */
const FORMATS: Readonly<Record<Dialect, ProbeFormat>> = {
  openai: { body: openaiBody, whole: readOpenai, events: joinOpenai },
  anthropic: { body: anthropicBody, whole: readAnthropic, events: joinAnthropic },
}

/** The body by which a model is asked, in the dialect of its provider. */
export function bodyOf(asked: Asked, comparison: Comparison): Record<string, unknown> {
  return FORMATS[asked.dialect].body(asked, comparison)
}

/** Reads the body of an answer, in one piece or as a stream of events. @returns undefined for what is neither */
export function readAnswer(dialect: Dialect, body: string): ProbeAnswer | undefined {
  const { whole, events } = FORMATS[dialect]
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

function openaiBody({ model, maxTokensField }: Asked, comparison: Comparison): Record<string, unknown> {
  const { prompt, stream, maxTokens, limitName, temperature } = comparison
  const system = prompt.system === undefined ? [] : [{ role: 'system', content: prompt.system }]
  return {
    model,
    [maxTokensField === '' ? limitName : maxTokensField]: maxTokens,
    ...(stream && { stream, stream_options: { include_usage: true } }),
    messages: [...system, { role: 'user', content: prompt.text }],
    ...(temperature !== undefined && { temperature }),
  }
}

function anthropicBody({ model }: Asked, comparison: Comparison): Record<string, unknown> {
  const { prompt, stream, maxTokens, temperature } = comparison
  return {
    model,
    max_tokens: maxTokens,
    ...(stream && { stream }),
    ...(temperature !== undefined && { temperature }),
    ...(prompt.system !== undefined && { system: prompt.system }),
    messages: [{ role: 'user', content: prompt.text }],
  }
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
