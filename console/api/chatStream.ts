import { errorIn } from './apiError.ts'
import { type Shape, send, withCredential } from './client.ts'
import { EventReader } from './eventStream.ts'

/** The part of an answer that has arrived. */
export interface Chat {
  readonly text: string
  /** From the request to the first text, measured here. */
  readonly firstMs: number | undefined
  readonly receipt: Shape<'Receipt'> | undefined
}

export const EMPTY_CHAT: Chat = { text: '', firstMs: undefined, receipt: undefined }

interface ChatRequest {
  readonly model: string
  readonly prompt: string
  readonly mostTokens: number
}

interface Chunk {
  readonly error?: unknown
  readonly choices?: readonly { readonly delta?: { readonly content?: string | null } }[]
}

/**
 * Streams an answer.
 * @param show called with all that has arrived, whenever something does
 * @throws ApiError for a refusal, also one within the stream
 */
export async function streamChat(
  { model, prompt, mostTokens }: ChatRequest,
  show: (chat: Chat) => void,
  signal: AbortSignal,
): Promise<void> {
  const startedAt = performance.now()
  const response = await send('/v1/chat/completions', {
    method: 'POST',
    headers: withCredential({ 'content-type': 'application/json' }),
    body: JSON.stringify({
      model,
      stream: true,
      max_tokens: mostTokens,
      messages: [{ role: 'user', content: prompt }],
    }),
    signal,
  })
  const requestId = response.headers.get('x-request-id') ?? ''
  const events = new EventReader()
  const decoder = new TextDecoder()
  let chat = EMPTY_CHAT
  const reader = response.body?.getReader()
  for (let part = await reader?.read(); part !== undefined && !part.done; part = await reader?.read()) {
    for (const piece of events.push(decoder.decode(part.value, { stream: true }))) {
      if (piece.kind === 'receipt') chat = { ...chat, receipt: JSON.parse(piece.text) as Shape<'Receipt'> }
      if (piece.kind !== 'data') continue
      const { error, choices } = piece.json as Chunk
      if (error !== undefined) throw errorIn(piece.json, response.status, requestId)
      const text = choices?.[0]?.delta?.content ?? ''
      if (text === '') continue
      chat = { ...chat, text: chat.text + text, firstMs: chat.firstMs ?? performance.now() - startedAt }
    }
    show(chat)
  }
}
