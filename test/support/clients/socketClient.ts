import { type Agent, type ClientRequest, request } from 'node:http'

/** A POST of JSON with a key, whose socket is the caller's. */
function begin(url: string, apiKey: string, agent?: Agent): ClientRequest {
  return request(url, {
    ...(agent !== undefined && { agent }),
    method: 'POST',
    headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
  })
}

/** Posts over the connections of an agent, and reads the answer to its end. */
export function postBy(
  agent: Agent,
  url: string,
  apiKey: string,
  body: object,
): Promise<{ status: number; text: string }> {
  return new Promise((resolve, reject) => {
    const call = begin(url, apiKey, agent)
    call.on('error', reject)
    call.on('response', (response) => {
      let text = ''
      response.setEncoding('utf8')
      response.on('error', reject)
      response.on('data', (piece: string) => {
        text += piece
      })
      response.on('end', () => resolve({ status: response.statusCode ?? 0, text }))
    })
    call.end(JSON.stringify(body))
  })
}

/** Posts and tells what has been read so far; the caller may break it off, so that no error is one. */
export function postOpen(url: string, apiKey: string, body: object, onText: (text: string) => void): ClientRequest {
  const call = begin(url, apiKey)
  let text = ''
  call.on('response', (response) => {
    response.setEncoding('utf8')
    response.on('data', (piece: string) => {
      text += piece
      onText(text)
    })
    response.on('error', () => undefined)
  })
  call.on('error', () => undefined)
  call.end(JSON.stringify(body))
  return call
}
