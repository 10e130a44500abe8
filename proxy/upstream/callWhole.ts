import { AnswerBody } from './answerBody.ts'
import {
  type Transport,
  TransportFailure,
  type UpstreamCall,
  type UpstreamHeaders,
  type UpstreamRequest,
} from './transport/transport.ts'

/** An answer in one piece. */
export interface WholeReply {
  readonly status: number
  readonly headers: UpstreamHeaders
  readonly body: Buffer
}

/**
 * Sends one request and reads its answer to the end.
 * @param bytesMax a longer body counts as malformed
 * @throws TransportFailure
 */
export function callWhole(transport: Transport, request: UpstreamRequest, bytesMax: number): Promise<WholeReply> {
  return new Promise((resolve, reject) => {
    let status = 0
    let headers: UpstreamHeaders = { get: () => undefined }
    const body = new AnswerBody()
    const call: UpstreamCall = transport.send(request, {
      onHead: (seen, seenHeaders) => {
        status = seen
        headers = seenHeaders
      },
      onData: (piece) => {
        if (body.add(piece, bytesMax) === null) return
        call.cancel()
        reject(new TransportFailure('malformed'))
      },
      onEnd: () => resolve({ status, headers, body: body.take() }),
      onFailure: reject,
    })
  })
}
