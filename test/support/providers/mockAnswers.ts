/** A chunk of a streamed chat completion. */
export interface Chunk {
  readonly id: string
  readonly choices: {
    delta: { content?: string | null; tool_calls?: { function: { arguments: string } }[] }
    finish_reason: string | null
  }[]
  readonly usage?: Record<string, unknown> | null
  readonly error?: unknown
}

/** The data of the events of a stream. */
export function events(text: string): string[] {
  return text
    .split('\n\n')
    .filter((event) => event.startsWith('data: '))
    .map((event) => event.slice(6))
}

/** The chunks of a stream. */
export function chunks(text: string): Chunk[] {
  return events(text)
    .filter((data) => data !== '[DONE]')
    .map((data) => JSON.parse(data) as Chunk)
}

/** Reads an answer to its end, or as far as it goes. */
export async function readUntilBroken(response: Response): Promise<{ text: string; broken: boolean }> {
  let text = ''
  const decoder = new TextDecoder()
  try {
    for await (const part of response.body ?? []) text += decoder.decode(part, { stream: true })
    return { text, broken: false }
  } catch {
    return { text, broken: true }
  }
}
