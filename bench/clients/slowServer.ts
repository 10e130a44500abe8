// A server whose streams are slow: by HTTP/2 or HTTP/1.1 over TLS, as the client asks. `--key FILE --cert FILE --chunks N --delay MS`
import { readFileSync } from 'node:fs'
import { createSecureServer } from 'node:http2'
import type { AddressInfo } from 'node:net'
import { parseArgs } from 'node:util'

const { values } = parseArgs({
  options: {
    key: { type: 'string', default: '' },
    cert: { type: 'string', default: '' },
    chunks: { type: 'string', default: '100' },
    delay: { type: 'string', default: '20' },
  },
})
const chunks = Number(values.chunks)
const delayMs = Number(values.delay)
const chunk = `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content: 'word ' } }] })}\n\n`
const STREAMS_MAX = 4_096

const options = {
  key: readFileSync(values.key),
  cert: readFileSync(values.cert),
  allowHTTP1: true,
  settings: { maxConcurrentStreams: STREAMS_MAX },
}
const server = createSecureServer(options, (request, response) => {
  request.resume()
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  let sent = 0
  const timer = setInterval(() => {
    response.write(chunk)
    if (++sent < chunks) return
    clearInterval(timer)
    response.end()
  }, delayMs)
  response.on('close', () => clearInterval(timer))
})
server.listen(0, '127.0.0.1', () => process.send?.({ ready: { port: (server.address() as AddressInfo).port } }))
process.on('SIGTERM', () => process.exit(0))
process.on('disconnect', () => process.exit(0))
