/** What the client of any format must get of an answer, and what its receipt must say. */
export interface Want {
  readonly text?: string
  readonly reasoning?: string
  readonly refusal?: string
  readonly calls?: readonly WantedCall[]
  /** By the names of chat completions. Default: `tool_calls` with calls, else `stop`. */
  readonly finish?: string
  /** `partial`: the client gets an error in the stream. `refused`: an error in place of an answer, and no charge. */
  readonly status?: 'ok' | 'partial' | 'refused'
  /** Tokens of the prompt and of the output, where the provider reports them. Default: those of USAGE. */
  readonly tokens?: readonly [prompt: number, output: number] | 'estimated'
}

export interface WantedCall {
  readonly name: string
  readonly input: unknown
  /** Absent: the gateway makes one. */
  readonly id?: string
}

/** One shape of a provider's answer, as it comes over the wire. */
export interface Wire {
  readonly name: string
  /** What the provider answers to a request for a stream. */
  readonly stream?: string
  readonly streamType?: string
  /** The connection breaks behind the stream. */
  readonly cut?: boolean
  /** How many bytes go into one write. */
  readonly writeBytes?: number
  /** What it answers to a request for an answer in one piece. */
  readonly whole?: string
  readonly wholeType?: string
  readonly want: Want
}

export const USAGE = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 }
export const DONE = 'data: [DONE]\n\n'

/** A chunk with one choice, as one event. */
export function chunk(delta: unknown, finish: unknown = null, more: object = {}): string {
  return eventOf({ choices: [{ index: 0, delta, finish_reason: finish }], ...more })
}

/** A chunk with this choice. */
export function choiceChunk(choice: object): string {
  return eventOf({ choices: [choice] })
}

/** Members of a chunk as one event. */
export function eventOf(members: object): string {
  return `data: ${JSON.stringify({ id: 'up', object: 'chat.completion.chunk', created: 7, model: 'm', ...members })}\n\n`
}

export const USAGE_CHUNK = eventOf({ choices: [], usage: USAGE })

/** What most providers begin with. */
export const ROLE = chunk({ role: 'assistant', content: '' })

/** The end of a stream that ends as it should: its reason, its usage, [DONE]. */
export function ending(finish: unknown = 'stop'): string {
  return chunk({}, finish) + USAGE_CHUNK + DONE
}

/** Deltas, and the end. */
export function streamOf(deltas: readonly unknown[], finish: unknown = 'stop'): string {
  return ROLE + deltas.map((delta) => chunk(delta)).join('') + ending(finish)
}

/** Deltas that each have tool calls, and the end. */
export function callStream(deltas: readonly unknown[][], finish: unknown = 'tool_calls'): string {
  return streamOf(
    deltas.map((calls) => ({ tool_calls: calls })),
    finish,
  )
}

/** An answer in one piece. */
export function wholeOf(message: unknown, finish: unknown = 'stop', more: object = {}): string {
  const choice = { index: 0, message, logprobs: null, finish_reason: finish }
  return JSON.stringify({
    id: 'up',
    object: 'chat.completion',
    created: 7,
    model: 'm',
    choices: [choice],
    usage: USAGE,
    ...more,
  })
}
