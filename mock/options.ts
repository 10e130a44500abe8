import { QUIRKS } from './quirks.ts'

/** Options with a whole number. Those named after a place in the stream count content frames sent before it. */
export const INTEGER_OPTIONS = [
  // The shape of the stream: content frames, milliseconds between writes, frames per write.
  'chunks',
  'delay',
  'batch',
  // Milliseconds before the response head, and before the first content frame.
  'slow_headers',
  'ttft',
  // Usage as reported, in tokens, independent of the tokens sent.
  'prompt',
  'completion',
  'cached',
  'cache_write',
  'cache_write_1h',
  'reasoning',
  // Pieces of thinking before the content.
  'thinking',
  // The stream's end after a number of content frames: connection destroyed, clean end, silence, error event.
  'cut',
  'fin',
  'hang',
  'error_in_stream',
  // The index of a content frame that is not JSON.
  'badframe',
  // Except for chat: images made, seconds of audio and searches reported, bytes of each piece of speech, and the number of
  // dimensions of an embedding.
  'images',
  'seconds',
  'searches',
  // Results that a search finds; `searches` are those it bills.
  'results',
  'bytes',
  'dims',
  // An HTTP error status, and its Retry-After in seconds.
  'error',
  'retry_after',
  // The number of first requests with this model name that fail with status 500.
  'fail_first',
  // The billed amount that an error answer of a tool's upstream reports.
  'error_billed',
  // Bytes per write, and the size in bytes of the first content frame.
  'split',
  'bigevent',
  // Video jobs: milliseconds in the queue and in the making, bytes of the clip; `seconds` are reported and billed.
  'queue',
  'make',
  'clip',
  // The status of every answer about a job, a number of first ones with status 500, the status of the clip, and the bytes
  // after which its connection is destroyed.
  'state_error',
  'state_fail_first',
  'clip_error',
  'clip_cut',
  // Batches: milliseconds until one is over, and the number of first batches whose creation gets no response.
  'work',
  'lost_batches',
] as const

/** Options that are on or off: `html200` or `comments=1`. */
export const FLAG_OPTIONS = [
  // The connection is destroyed before any byte of an answer.
  'reset',
  // Status 200 with a page of HTML, or with broken JSON.
  'html200',
  'badjson',
  // A comment line before each event, a byte order mark at the start, each event's JSON over two data lines.
  'comments',
  'bom',
  'multiline',
  // Each write leaves by itself, one a turn of the event loop, as providers send tokens that they have just made.
  'flush',
  // Content that holds the text of a [DONE] event, a tool call in fragments, the received request as content.
  'donetext',
  'tool',
  'echo',
  // A tool call, and text once the request holds a tool's result.
  'round',
  // There is no counting of tokens.
  'nocount',
  // Images in one piece, also where they are asked for as events.
  'unstreamed',
  // Content as a refusal.
  'refuse',
  // A video job that does not report the length of its clip.
  'noseconds',
  // Batches: every line of the answer twice; every line an error.
  'twice',
  'badlines',
] as const

/** Options with one of a few words. */
export const WORD_OPTIONS = {
  // The provider whose quirks it has.
  as: Object.keys(QUIRKS),
  // Where usage is reported and how it is wrong. `every` and `finish` report it unasked, as some providers do; `start` is
  // of the Anthropic dialect and leaves it out at the end.
  usage: ['none', 'start', 'zero', 'every', 'finish', 'negative', 'fractional', 'absurd', 'twice', 'null'],
  // `no` leaves out the [DONE] event or the frame with the finish reason.
  done: ['yes', 'no'],
  finish: ['yes', 'no'],
  eol: ['lf', 'crlf', 'cr'],
  err_body: ['openai', 'html', 'string', 'fastapi', 'vllm', 'empty'],
  preamble: ['azure'],
  // The maker whose format of rerank answers it uses, and the only encoding of embeddings that it supports.
  style: ['cohere', 'jina'],
  encoding: ['float', 'base64'],
  // How a video job ends; a stuck job never does, a held one when POST /_videos/release is called.
  video: ['completed', 'failed', 'stuck', 'held'],
  // How a batch ends: with all lines; refused as a whole; out of time, with every second line; never by itself.
  ends: ['completed', 'failed', 'expired', 'stuck'],
} as const

export type IntegerOption = (typeof INTEGER_OPTIONS)[number]
export type FlagOption = (typeof FLAG_OPTIONS)[number]
export type WordOption = keyof typeof WORD_OPTIONS
