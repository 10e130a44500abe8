import { brotliCompressSync, gzipSync } from 'node:zlib'
import { limits } from '../limits.ts'
import { beginEvents, chunk, event, type Play } from './scriptedProvider.ts'

const USAGE = { prompt_tokens: 10, completion_tokens: 5 }
/** Arrays in each other. */
export const deep = (levels: number) => '['.repeat(levels) + ']'.repeat(levels)
const later = (work: () => void) => setTimeout(work, 60)

const COMPLETION = JSON.stringify({
  choices: [{ index: 0, message: { role: 'assistant', content: 'hello' }, finish_reason: 'stop' }],
  usage: USAGE,
})
const EVENTS = `${[chunk({ content: 'hello' }), chunk({}, 'stop'), { choices: [], usage: USAGE }]
  .map((value) => `data: ${JSON.stringify(value)}\n\n`)
  .join('')}data: [DONE]\n\n`
const BOMB = gzipSync(Buffer.alloc(limits.responseBodyBytesMax + 1, ' '))

/** Ends what the play `late-error` has kept waiting. */
export const late: { fail?: () => unknown } = {}

/** Answers that no sound provider gives, by the name of the model that is asked. */
export const PLAYS: Record<string, Play> = {
  echo: (response, body) => {
    const content = JSON.stringify(body['messages'])
    response.setHeader('content-type', 'application/json')
    response.end(JSON.stringify({ choices: [{ index: 0, message: { content }, finish_reason: 'stop' }], usage: USAGE }))
  },
  'deep-extra': (response) => {
    response.end(
      `{"choices":[{"index":0,"message":{"content":"x"}}],"usage":{"prompt_tokens":1,"completion_tokens":1},"x":${deep(7_000)}}`,
    )
  },
  'deep-tools': (response) => response.end(`{"choices":[{"index":0,"message":{"tool_calls":${deep(7_000)}}}]}`),
  'no-gzip': (response) =>
    response.writeHead(200, { 'content-encoding': 'gzip', 'content-type': 'text/event-stream' }).end('xx'),
  zstd: (response) => response.writeHead(200, { 'content-encoding': 'zstd' }).end(COMPLETION),
  gzip: (response, { stream }) => {
    const type = stream === true ? 'text/event-stream' : 'application/json'
    response.writeHead(200, { 'content-encoding': 'gzip', 'content-type': type })
    response.end(gzipSync(stream === true ? EVENTS : COMPLETION))
  },
  'br-error': (response) =>
    response
      .writeHead(400, { 'content-encoding': 'br' })
      .end(brotliCompressSync('{"error":{"message":"no such voice"}}')),
  'gzip-bomb': (response) => response.writeHead(200, { 'content-encoding': 'gzip' }).end(BOMB),
  'gzip-bomb-error': (response) => response.writeHead(429, { 'content-encoding': 'gzip' }).end(BOMB),
  'no-output-count': (response) => {
    response.end(
      JSON.stringify({ choices: [{ index: 0, message: { content: 'y'.repeat(400) } }], usage: { prompt_tokens: 10 } }),
    )
  },
  'only-usage': (response) => {
    beginEvents(response)
    event(response, chunk({ role: 'assistant', content: '' }))
    later(() => {
      event(response, { choices: [], usage: USAGE })
      response.end('data: [DONE]\n\n')
    })
  },
  'not-utf8': (response, { stream }) => {
    if (stream !== true) {
      response.setHeader('content-type', 'application/json')
      response.end(Buffer.from(COMPLETION.replace('hello', 'caf\xe9'), 'latin1'))
      return
    }
    beginEvents(response)
    const latin1 = (text: string) => response.write(Buffer.from(text, 'latin1'))
    latin1(': gar\xe7on\n\n')
    for (const word of ['na\xefve', ' caf\xe9', ' \xff\xfe'])
      latin1(`data: ${JSON.stringify(chunk({ content: word }))}\n\n`)
    const whole = Buffer.from(`data: ${JSON.stringify(chunk({ content: ' sound\u00e9\u754c' }))}\n\n`)
    const middle = whole.indexOf(0xc3) + 1
    response.write(whole.subarray(0, middle))
    later(() => {
      response.write(whole.subarray(middle))
      latin1(`data: ${JSON.stringify(chunk({ content: ' fin\xe9' }))}\n\n`)
      event(response, chunk({}, 'stop'))
      event(response, { choices: [], usage: USAGE })
      response.end('data: [DONE]\n\n')
    })
  },
  'error-stalls': (response) => {
    response.writeHead(500, { 'content-length': 1_000 })
    response.write('{"error":')
  },
  'error-trickles': (response) => {
    response.writeHead(429, { 'retry-after': '7' })
    const timer = setInterval(() => response.write(' '), 20)
    response.on('close', () => clearInterval(timer))
  },
  'upper-case': (response) => {
    response.writeHead(200, { 'content-type': 'Text/Event-Stream' })
    event(response, chunk({ content: 'x' }, 'stop'))
    response.end('data: [DONE]\n\n')
  },
  'error-first': (response) => {
    beginEvents(response)
    event(response, { error: { message: 'no' } })
    response.end()
  },
  'late-error': (response) => {
    late.fail = () => response.writeHead(500).end()
  },
  'late-usage': (response) => {
    beginEvents(response)
    event(response, chunk({ content: 'x' }))
    event(response, chunk({}, 'stop'))
    later(() => {
      event(response, { choices: [], usage: { prompt_tokens: 10, completion_tokens: 5_000 } })
      response.end('data: [DONE]\n\n')
    })
  },
  'early-usage': (response) => {
    beginEvents(response)
    event(response, { ...(chunk({ role: 'assistant' }) as object), usage: { prompt_tokens: 10, completion_tokens: 0 } })
    const timer = setInterval(() => event(response, chunk({ content: ' tok' })), 5)
    response.on('close', () => clearInterval(timer))
  },
}
