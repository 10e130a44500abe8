import type { HttpResponse } from 'uWebSockets.js'

/**
 * Bytes that one cork takes. The server package collects 16 KiB in it, and of a write that does not fit as well it loses bytes when the
 * socket is full: such a write is put into the next cork, and a larger one into several.
 */
export const CORK_BYTES = 15_000

/**
 * Writes any number of bytes, in corks of their own.
 * @returns false when the reader has fallen behind
 */
export function writeSlices(res: HttpResponse, bytes: Buffer): boolean {
  let ready = true
  for (let from = 0; from < bytes.length; from += CORK_BYTES) {
    res.cork(() => {
      ready = res.write(bytes.subarray(from, from + CORK_BYTES))
    })
  }
  return ready
}
