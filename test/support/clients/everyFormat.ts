import { chatStream, completion, postRaw, type Receipt } from './chatClient.ts'
import { messages, messagesAnswer, messagesStream } from './messagesClient.ts'
import { post, readResponseStream, responseOf } from './responsesClient.ts'

/** An answer, whatever format it was in. */
export interface FormattedAnswer {
  readonly receipt: Receipt | null
  readonly headers: Headers
  readonly model: unknown
}

/** Sends a short request in one of the formats of the chat models. @param body more members of the request */
export type Send = (body: { readonly model: string; readonly [member: string]: unknown }) => Promise<FormattedAnswer>

/** The formats of the chat models, with and without a stream. */
export function everyFormat(baseUrl: string, apiKey: string): Readonly<Record<FormatName, Send>> {
  const input = { input: 'hello', max_output_tokens: 20 }
  const responses = (body: object) => post(baseUrl, '/v1/responses', apiKey, { ...input, ...body })
  const chatBody = { messages: [{ role: 'user', content: 'hello' }], max_tokens: 20 }
  return {
    chat: async (body) => {
      const reply = await postRaw(baseUrl, apiKey, JSON.stringify({ ...chatBody, ...body }))
      const { receipt, model } = completion(reply)
      return { receipt, headers: reply.headers, model }
    },
    'chat stream': async (body) => {
      const { receipt, headers, events } = await chatStream(baseUrl, apiKey, { ...chatBody, ...body })
      return { receipt, headers, model: events[0]?.['model'] }
    },
    messages: async (body) => {
      const reply = await messages(baseUrl, apiKey, body)
      const { receipt, model } = messagesAnswer(reply)
      return { receipt, headers: reply.headers, model }
    },
    'messages stream': async (body) => {
      const { receipt, headers, answer } = await messagesStream(baseUrl, apiKey, body)
      return { receipt, headers, model: answer.model }
    },
    responses: async (body) => {
      const reply = await responses(body)
      const { receipt, model } = responseOf(reply)
      return { receipt, headers: reply.headers, model }
    },
    'responses stream': async (body) => {
      const { receipt, headers, response } = readResponseStream(await responses({ stream: true, ...body }))
      return { receipt, headers, model: response.model }
    },
  }
}

export const FORMAT_NAMES = [
  'chat',
  'chat stream',
  'messages',
  'messages stream',
  'responses',
  'responses stream',
] as const
export type FormatName = (typeof FORMAT_NAMES)[number]
