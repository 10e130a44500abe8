import type { Endpoint } from '../../../contract/catalog/catalog.ts'
import { GatewayError } from '../../../contract/errors/errors.ts'

/** The numbers in an error about a full context, in tokens; null where it has none. */
interface ContextNumbers {
  readonly prompt: number | null
  readonly output: number | null
  readonly most: number | null
}

const TOO_LONG = /prompt is too long: \d+ tokens > \d+ maximum/
const EXCEEDS = /input length and `max_tokens` exceed context limit: \d+ \+ \d+ > \d+/
const MOST = [
  /maximum context length (?:is|of) (\d+)/i,
  /context (?:window|size|length)\D{0,24}(\d+)/i,
  /tokens? > (\d+)/i,
  /maximum (?:number of tokens )?(?:allowed )?\((\d+)\)/i,
]
const PROMPT = [
  /(\d+) (?:tokens )?in the messages/i,
  /(?:has|contains|resulted in|at least|input of|passed) (\d+) (?:input |prompt )?tokens/i,
  /\((\d+) tokens\) exceeds/i,
  /(?:requested|have|token count) \(?(\d+)/i,
]
const OUTPUT = [
  /(\d+) (?:tokens )?in the completion/i,
  /max_completion_tokens' is too large: (\d+)/i,
  /max_tokens=(\d+)/i,
]

/**
 * An error about a full context in the words by which clients of a format know that they have to shorten the conversation:
 * agents of the Messages format read the sentence, those of the others the code.
 * @param promptTokens the prompt's tokens as the gateway sees them
 * @param context the most that the model takes, in tokens
 * @returns the error itself where its words will do
 */
export function contextWords(
  error: GatewayError,
  endpoint: Endpoint,
  promptTokens: number,
  context: number,
): GatewayError {
  if (error.row !== 'context_length_exceeded' || endpoint !== 'messages') return error
  const { message } = error
  const said = TOO_LONG.exec(message) ?? EXCEEDS.exec(message)
  const words = said === null ? messagesWords(numbersIn(message), promptTokens, context) : said[0]
  return new GatewayError('context_length_exceeded', {
    message: words,
    status: error.status,
    ...(error.param !== null && { param: error.param }),
  })
}

function messagesWords({ prompt, output, most }: ContextNumbers, promptTokens: number, context: number): string {
  const limit = most ?? context
  const used = prompt ?? Math.max(promptTokens, limit + 1)
  if (output !== null && used <= limit) {
    return `input length and \`max_tokens\` exceed context limit: ${used} + ${output} > ${limit}, decrease input length or \`max_tokens\` and try again`
  }
  return `prompt is too long: ${Math.max(used, limit + 1)} tokens > ${limit} maximum`
}

function numbersIn(message: string): ContextNumbers {
  const text = message.replace(/(\d),(?=\d{3}\b)/g, '$1')
  return { prompt: firstOf(PROMPT, text), output: firstOf(OUTPUT, text), most: firstOf(MOST, text) }
}

function firstOf(patterns: readonly RegExp[], text: string): number | null {
  for (const pattern of patterns) {
    const found = pattern.exec(text)?.[1]
    if (found !== undefined) return Number(found)
  }
  return null
}
