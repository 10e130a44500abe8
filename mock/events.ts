import type { Behaviour } from './grammar.ts'
import { withMembers } from './quirks.ts'

const EOL = { lf: '\n', crlf: '\r\n', cr: '\r' } as const
const CREATED = 1_763_683_200

/** The kind of a request: a chat completion, a legacy text completion, or messages. */
export type Kind = 'chat' | 'text' | 'messages'

/** The first bytes of a behaviour's chunks, up to `choices`. All answers of one model name share an id. */
export function chunkStart(behaviour: Behaviour, kind: Kind): string {
  const object = kind === 'chat' ? 'chat.completion.chunk' : 'text_completion'
  return (
    `{"id":"${answerId(behaviour)}","object":"${object}","created":${CREATED},` +
    `"model":${JSON.stringify(behaviour.name)},"system_fingerprint":"fp_5f1c2e9a3b",${chunkMembers(behaviour)}`
  )
}

function chunkMembers({ quirks }: Behaviour): string {
  return quirks?.chunk === undefined ? '' : `${JSON.stringify(quirks.chunk).slice(1, -1)},`
}

/** The id of a behaviour's answers: `chatcmpl-` and 29 characters, as at OpenAI. */
export function answerId(behaviour: Behaviour): string {
  let state = 2_166_136_261
  let text = ''
  for (let i = 0; i < 29; i++) {
    for (const char of behaviour.name) state = Math.imul(state ^ char.charCodeAt(0), 16_777_619) >>> 0
    state = Math.imul(state ^ i, 16_777_619) >>> 0
    text += (state % 36).toString(36)
  }
  return `chatcmpl-${text}`
}

/** One chunk with one choice. `delta` and `usage` are JSON text; `usage` undefined leaves the member out. */
export function choiceChunk(start: string, delta: string, finish: string | null, usage: string | undefined): string {
  const tail = usage === undefined ? '' : `,"usage":${usage}`
  return `${start}"choices":[{"index":0,"delta":${delta},"logprobs":null,"finish_reason":${JSON.stringify(finish)}}]${tail}}`
}

/** One chunk of a text completion. */
export function textChunk(start: string, text: string, finish: string | null, usage: string | undefined): string {
  const tail = usage === undefined ? '' : `,"usage":${usage}`
  const choice = JSON.stringify({ index: 0, text, logprobs: null, finish_reason: finish })
  return `${start}"choices":[${choice}]${tail}}`
}

/** The chunk without choices that carries usage. */
export function usageChunk(start: string, usage: string): string {
  return `${start}"choices":[],"usage":${usage}}`
}

/** The first event of Azure's streams. */
export function azurePreamble(behaviour: Behaviour): string {
  return (
    `{"id":"","object":"","created":0,"model":${JSON.stringify(behaviour.name)},"choices":[],"prompt_filter_results":` +
    '[{"prompt_index":0,"content_filter_results":{"hate":{"filtered":false,"severity":"safe"}}}]}'
  )
}

/** The text of one server-sent event in the behaviour's framing, with or without a name. */
export function eventText(behaviour: Behaviour, data: string, name?: string): string {
  const eol = EOL[(behaviour.words.eol ?? 'lf') as keyof typeof EOL]
  const comment = behaviour.comments ? `: keep-alive${eol}${eol}` : ''
  const named = name === undefined ? '' : `event: ${name}${eol}`
  return `${comment}${named}data: ${spread(behaviour, data, eol)}${eol}${eol}`
}

function spread(behaviour: Behaviour, data: string, eol: string): string {
  // A line end after the opening brace is white space to JSON.
  return behaviour.multiline && data.startsWith('{') ? `{${eol}data: ${data.slice(1)}` : data
}

/** An answer in one piece. `message` and `usage` are JSON text; of a text completion, `message` is its text. */
export function completionText(
  behaviour: Behaviour,
  kind: Kind,
  message: string,
  finish: string,
  usage: string | undefined,
): string {
  const tail = usage === undefined ? '' : `,"usage":${usage}`
  const [object, member] = kind === 'chat' ? ['chat.completion', 'message'] : ['text_completion', 'text']
  const text =
    `{"id":"${answerId(behaviour)}","object":"${object}","created":${CREATED},` +
    `"model":${JSON.stringify(behaviour.name)},"choices":[{"index":0,"${member}":${message},"logprobs":null,` +
    `"finish_reason":"${finish}"}]${tail},"system_fingerprint":"fp_5f1c2e9a3b"}`
  return withMembers(text, { ...behaviour.quirks?.chunk, ...behaviour.quirks?.last?.(usage) })
}
