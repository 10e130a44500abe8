import type { TestContext } from 'node:test'

/** How many bytes `run` looks at in searches of buffers: work that is linear in a stream looks at each byte a few times. */
export function searchedBytes(t: TestContext, run: () => void): number {
  const { indexOf } = Buffer.prototype
  let bytes = 0
  const counted = t.mock.method(
    Buffer.prototype,
    'indexOf',
    function (this: Buffer, value: string | Uint8Array | number, from?: number, encoding?: BufferEncoding): number {
      const found = indexOf.call(this, value, from, encoding)
      bytes += (found < 0 ? this.length : found) - (from ?? 0)
      return found
    },
  )
  run()
  counted.mock.restore()
  return bytes
}
