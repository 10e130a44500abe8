import assert from 'node:assert/strict'
import Anthropic from '@anthropic-ai/sdk'
import OpenAI from 'openai'
import type { Receipt } from '../clients/chatClient.ts'
import { assertSerialItems } from './serialItems.ts'

/** What a client got, by the names of chat completions. */
export interface Got {
  text: string
  reasoning: string
  refusal: string
  calls: { id: string; name: string; arguments: string }[]
  finish: string
}

/** Asks for an answer with an official client. @throws what the client throws */
export type Ask = (model: string, prompt: string, isStream: boolean) => Promise<Got>

/** Keeps the bytes of the last answer, which hold the receipt that clients do not show. */
export class ReceiptTap {
  private text = ''

  readonly fetch = async (url: string | URL | Request, init?: RequestInit): Promise<Response> => {
    this.text = ''
    const response = await fetch(url, init)
    this.text = await response.text()
    return new Response(this.text, response)
  }

  /** undefined where the answer has none, as errors before the first byte. @throws for items of a response that overlap */
  get receipt(): Receipt | undefined {
    assertSerialItems(this.text)
    const line = /^: receipt (.*)$/m.exec(this.text)?.[1]
    if (line !== undefined) return JSON.parse(line) as Receipt
    return this.text.startsWith('{') ? (JSON.parse(this.text) as { receipt?: Receipt }).receipt : undefined
  }
}

/** The clients of each format, by the format's name. */
export function wireClients(baseUrl: string, apiKey: string, tap: ReceiptTap): Record<string, Ask> {
  const openai = new OpenAI({ baseURL: `${baseUrl}/v1`, apiKey, maxRetries: 0, fetch: tap.fetch })
  const anthropic = new Anthropic({ baseURL: baseUrl, apiKey, maxRetries: 0, fetch: tap.fetch })
  return {
    chat: (model, prompt, isStream) => askChat(openai, model, prompt, isStream),
    completions: (model, prompt, isStream) => askText(openai, model, prompt, isStream),
    messages: (model, prompt, isStream) => askMessages(anthropic, model, prompt, isStream),
    responses: (model, prompt, isStream) => askResponses(openai, model, prompt, isStream),
  }
}

interface Thoughtful {
  reasoning_content?: string
  reasoning?: string
}

async function askChat(client: OpenAI, model: string, prompt: string, isStream: boolean): Promise<Got> {
  const body = { model, messages: [{ role: 'user' as const, content: prompt }] }
  let reasoning = ''
  const note = (said: unknown) => {
    const { reasoning_content: long, reasoning: short } = said as Thoughtful
    reasoning += long ?? short ?? ''
  }
  let completion: OpenAI.ChatCompletion
  if (isStream) {
    const stream = client.chat.completions.stream(body)
    stream.on('chunk', ({ choices }) => choices.forEach(({ delta }) => void note(delta)))
    completion = await stream.finalChatCompletion()
  } else {
    completion = await client.chat.completions.create(body)
    note(completion.choices[0]?.message)
  }
  const [choice] = completion.choices
  const { content, refusal, tool_calls: calls } = choice?.message ?? { content: null, refusal: null }
  return {
    text: content ?? '',
    reasoning,
    refusal: refusal ?? '',
    calls: (calls ?? []).flatMap((call) =>
      call.type === 'function' ? [{ id: call.id, ...called(call.function) }] : [],
    ),
    finish: String(choice?.finish_reason),
  }
}

async function askText(client: OpenAI, model: string, prompt: string, isStream: boolean): Promise<Got> {
  const got: Got = { text: '', reasoning: '', refusal: '', calls: [], finish: '' }
  const note = ({ choices: [choice] }: OpenAI.Completion) => {
    got.text += choice?.text ?? ''
    got.finish = choice?.finish_reason ?? got.finish
  }
  if (!isStream) note(await client.completions.create({ model, prompt }))
  else for await (const part of await client.completions.create({ model, prompt, stream: true })) note(part)
  return got
}

function called({ name, arguments: text }: { name: string; arguments: string }): { name: string; arguments: string } {
  return { name, arguments: text }
}

const FINISH: Readonly<Record<string, string>> = {
  end_turn: 'stop',
  max_tokens: 'length',
  tool_use: 'tool_calls',
  refusal: 'content_filter',
  max_output_tokens: 'length',
}

async function askMessages(client: Anthropic, model: string, prompt: string, isStream: boolean): Promise<Got> {
  const body = { model, max_tokens: 1_000, messages: [{ role: 'user' as const, content: prompt }] }
  const message = isStream ? await client.messages.stream(body).finalMessage() : await client.messages.create(body)
  // Typed clients demand the member.
  assert.notEqual(message.stop_sequence, undefined)
  const got: Got = {
    text: '',
    reasoning: '',
    refusal: '',
    calls: [],
    finish: FINISH[String(message.stop_reason)] ?? '',
  }
  for (const block of message.content) {
    if (block.type === 'text') got.text += block.text
    else if (block.type === 'thinking') got.reasoning += block.thinking
    else if (block.type === 'tool_use')
      got.calls.push({ id: block.id, name: block.name, arguments: JSON.stringify(block.input) })
  }
  return got
}

async function askResponses(client: OpenAI, model: string, prompt: string, isStream: boolean): Promise<Got> {
  const body = { model, input: prompt }
  const response = isStream ? await client.responses.stream(body).finalResponse() : await client.responses.create(body)
  const got: Got = { text: '', reasoning: '', refusal: '', calls: [], finish: 'stop' }
  for (const item of response.output) {
    if (item.type === 'reasoning') got.reasoning += item.summary.map(({ text }) => text).join('')
    else if (item.type === 'function_call') got.calls.push({ id: item.call_id, ...called(item) })
    else if (item.type === 'message') {
      for (const part of item.content) {
        if (part.type === 'refusal') got.refusal += part.refusal
        else got.text += part.text
      }
    }
  }
  const reason = response.incomplete_details?.reason
  if (reason !== undefined) got.finish = FINISH[reason] ?? reason
  else if (got.calls.length > 0) got.finish = 'tool_calls'
  return got
}
