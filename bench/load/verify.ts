import { Connection } from './connection.ts'
import type { LoadOptions } from './options.ts'
import type { RequestSource } from './requests.ts'

/** The shape of a right answer, learnt from one that was read in full. */
export interface RightAnswer {
  /** Data events with [DONE]; 0 when not streamed. */
  readonly events: number
}

interface Chunk {
  readonly choices?: { delta?: { content?: string }; message?: { content?: string }; finish_reason?: string | null }[]
  readonly usage?: { completion_tokens?: number } | null
  readonly receipt?: { request_id?: string }
}

const ANSWER_TIMEOUT_MS = 30_000

/**
 * Sends one request, reads its answer in full, and checks status, tokens, usage, receipt and [DONE].
 * @throws Error with the fault of the answer, so that no broken target is timed
 */
export async function verifyTarget(options: LoadOptions, requests: RequestSource): Promise<RightAnswer> {
  const { target } = options
  const { status, text } = await fetchOnce(options, requests)
  const fail = (what: string) => new Error(`${target.name}: ${what}: ${text.slice(0, 300)}`)
  if (status !== 200) throw fail(`status ${status}`)
  const found = options.streamed ? readStream(text) : readWhole(text)
  if (found === undefined) throw fail('the answer is not JSON')
  if (found.tokens !== options.expectedTokens) throw fail(`${found.tokens} tokens, not ${options.expectedTokens}`)
  if (options.expectUsage && found.usageTokens !== options.expectedTokens) throw fail(`usage says ${found.usageTokens}`)
  if (options.expectReceipt && !found.receipt) throw fail('no receipt')
  if (options.streamed && !text.trimEnd().endsWith('data: [DONE]')) throw fail('no [DONE]')
  return { events: found.events }
}

interface Found {
  tokens: number
  usageTokens: number | undefined
  receipt: boolean
  events: number
}

function readStream(text: string): Found | undefined {
  const found: Found = { tokens: 0, usageTokens: undefined, receipt: false, events: 0 }
  for (const event of text.split('\n\n')) {
    if (event.startsWith(': receipt {')) found.receipt = true
    if (!event.startsWith('data: ')) continue
    found.events++
    if (event === 'data: [DONE]') continue
    const chunk = parse(event.slice(6))
    if (chunk === undefined) return undefined
    if ((chunk.choices?.[0]?.delta?.content ?? '') !== '') found.tokens++
    found.usageTokens = chunk.usage?.completion_tokens ?? found.usageTokens
  }
  return found
}

function readWhole(text: string): Found | undefined {
  const answer = parse(text)
  if (answer === undefined) return undefined
  const content = answer.choices?.[0]?.message?.content ?? ''
  return {
    tokens: content.split(' tok').length - 1,
    usageTokens: answer.usage?.completion_tokens,
    receipt: answer.receipt?.request_id !== undefined,
    events: 0,
  }
}

function parse(text: string): Chunk | undefined {
  try {
    return JSON.parse(text) as Chunk
  } catch {
    return undefined
  }
}

function fetchOnce(options: LoadOptions, requests: RequestSource): Promise<{ status: number; text: string }> {
  return new Promise((resolve, reject) => {
    let text = ''
    const settle = (act: () => void) => {
      clearTimeout(timer)
      connection.close()
      act()
    }
    const connection = new Connection(
      options.target,
      requests,
      options.streamed,
      (answer) => settle(() => resolve({ status: answer.status, text })),
      (error) => settle(() => reject(error)),
    )
    const late = () => settle(() => reject(new Error(`${options.target.name} gave no answer in time`)))
    const timer = setTimeout(late, ANSWER_TIMEOUT_MS)
    connection.onText = (part) => {
      text += part
    }
    connection.send()
  })
}
