import {
  type Transport,
  TransportFailure,
  type UpstreamCall,
  type UpstreamHeaders,
  type UpstreamRequest,
} from './transport.ts'

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
    const pieces: Buffer[] = []
    let bytes = 0
    const call: UpstreamCall = transport.send(request, {
      onHead: (seen, seenHeaders) => {
        status = seen
        headers = seenHeaders
      },
      onData: (piece) => {
        bytes += piece.length
        if (bytes > bytesMax) {
          call.cancel()
          reject(new TransportFailure('malformed'))
          return
        }
        pieces.push(Buffer.from(piece))
      },
      onEnd: () => resolve({ status, headers, body: Buffer.concat(pieces) }),
      onFailure: reject,
    })
  })
}
