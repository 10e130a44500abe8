import type { Limits } from '../../limits.ts'
import { CallError, type CallHttp } from '../../runtime/net/httpCall.ts'
import type { ProbeAnswer } from './compareAnswers.ts'

/** A model of a provider, as comparisons reach it. */
export interface AskedModel {
  /** Without a slash at its end. */
  readonly baseUrl: string
  readonly dialect: 'openai' | 'anthropic'
  /** '' for a provider that takes none. */
  readonly apiKey: string
  /** The provider's own name of it. */
  readonly model: string
  /** The name of the output limit that the provider knows. */
  readonly maxTokensField: string
  /** For providers that the operator has named. */
  readonly allowPrivate: boolean
}

/**
 * Asks a model for a buffered answer, at temperature 0 and with a bounded length.
 * @returns undefined without a usable answer: an error, a timeout, or a malformed body
 */
export async function askModel(
  asked: AskedModel,
  prompt: string,
  call: CallHttp,
  limits: Limits,
): Promise<ProbeAnswer | undefined> {
  const isOpenai = asked.dialect === 'openai'
  const body = {
    model: asked.model,
    messages: [{ role: 'user', content: prompt }],
    temperature: 0,
    [isOpenai && asked.maxTokensField !== '' ? asked.maxTokensField : 'max_tokens']: limits.providerProbeTokens,
  }
  try {
    const { status, body: answer } = await call({
      method: 'POST',
      url: new URL(`${asked.baseUrl}${isOpenai ? '/chat/completions' : '/messages'}`),
      headers: headersOf(asked),
      body: JSON.stringify(body),
      timeoutMs: limits.providerProbeTimeoutMs,
      answerBytesMax: limits.providerProbeBytesMax,
      allowPrivate: asked.allowPrivate,
    })
    if (status !== 200) return undefined
    return isOpenai ? readOpenai(JSON.parse(answer.toString())) : readAnthropic(JSON.parse(answer.toString()))
  } catch (error) {
    if (error instanceof CallError || error instanceof SyntaxError) return undefined
    throw error
  }
}

function headersOf({ dialect, apiKey }: AskedModel): Record<string, string> {
  const json = { 'content-type': 'application/json', accept: 'application/json' }
  if (dialect === 'anthropic') {
    return { ...json, 'anthropic-version': '2023-06-01', ...(apiKey !== '' && { 'x-api-key': apiKey }) }
  }
  return { ...json, ...(apiKey !== '' && { authorization: `Bearer ${apiKey}` }) }
}

function readOpenai(value: unknown): ProbeAnswer | undefined {
  const text = memberAt(value, 'choices', 0, 'message', 'content')
  if (typeof text !== 'string') return undefined
  const usage = memberAt(value, 'usage')
  return { text, promptTokens: countAt(usage, 'prompt_tokens'), outputTokens: countAt(usage, 'completion_tokens') }
}

function readAnthropic(value: unknown): ProbeAnswer | undefined {
  const content = memberAt(value, 'content')
  if (!Array.isArray(content)) return undefined
  const text = content.map((block: unknown) => memberAt(block, 'text')).filter((part) => typeof part === 'string')
  const usage = memberAt(value, 'usage')
  return {
    text: text.join(''),
    promptTokens: countAt(usage, 'input_tokens'),
    outputTokens: countAt(usage, 'output_tokens'),
  }
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
