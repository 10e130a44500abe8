import type { BenchCase, Prompt } from './cases.ts'
import type { LoadOptions, LoadTarget } from './load/options.ts'

const WORDS = 'It was a bright cold day in April, and the clocks were striking thirteen. '
const PROMPT_BYTES = 65_536
const IMAGES = 3
/** Three images of this size make a body of 1 MiB. */
const IMAGE_BYTES = 262_080

/** The load of a case on a target, without target-specific settings in addition to address and credential. */
export function loadOptions(kind: BenchCase, target: LoadTarget, metered: boolean, model: string): LoadOptions {
  return {
    target,
    body: requestBody(kind, model),
    streamed: kind.streamed,
    connections: kind.connections,
    seconds: kind.seconds ?? 2,
    expectedTokens: kind.tokens,
    expectUsage: true,
    expectReceipt: metered,
    ...(kind.rampMs === undefined ? {} : { rampMs: kind.rampMs }),
  }
}

/** The JSON body of a case's requests. */
export function requestBody(kind: BenchCase, model: string): string {
  return JSON.stringify({
    model,
    messages: [
      { role: 'system', content: 'You are a helpful assistant.' },
      { role: 'user', content: contentOf(kind.prompt) },
    ],
    max_tokens: 1_000,
    ...(kind.streamed ? { stream: true, stream_options: { include_usage: true } } : {}),
  })
}

function contentOf(prompt: Prompt): unknown {
  const short = 'Say something short about the weather in Paris today.'
  if (prompt === 'short') return short
  if (prompt === '64k') return WORDS.repeat(Math.ceil(PROMPT_BYTES / WORDS.length)).slice(0, PROMPT_BYTES)
  // Base64 makes four characters of three bytes.
  const url = `data:image/png;base64,${imageBytes().toString('base64')}`
  const image = { type: 'image_url', image_url: { url } }
  return [{ type: 'text', text: short }, ...Array.from({ length: IMAGES }, () => image)]
}

/** Bytes that look like a compressed image: the signature of a PNG and the output of a linear congruential generator. */
function imageBytes(): Buffer {
  const bytes = Buffer.alloc(IMAGE_BYTES)
  let state = 1
  for (let i = 0; i < IMAGE_BYTES; i++) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    bytes[i] = state >>> 24
  }
  bytes.set([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])
  return bytes
}
