import type { HttpResponse } from 'uWebSockets.js'

/** Of a write that does not fit the buffer of its cork, the server package loses bytes when the socket is full. */
const SLICE_BYTES_MAX = 12_288

/**
 * Writes any number of bytes, in corks of their own.
 * @returns false when the reader has fallen behind
 */
export function writeSlices(res: HttpResponse, bytes: Buffer): boolean {
  let ready = true
  for (let from = 0; from < bytes.length; from += SLICE_BYTES_MAX) {
    res.cork(() => {
      ready = res.write(bytes.subarray(from, from + SLICE_BYTES_MAX))
    })
  }
  return ready
}
