import { randomFillSync } from 'node:crypto'

const POOL_BYTES = 4_096
const TRACE_BYTES = 16
const SPAN_BYTES = 8
const pool = Buffer.allocUnsafe(POOL_BYTES)
let offset = POOL_BYTES

/** A random id of a trace: 32 hex digits, not all zero. */
export function newTraceId(): string {
  return randomHex(TRACE_BYTES)
}

/** A random id of a span: 16 hex digits, not all zero. */
export function newSpanId(): string {
  return randomHex(SPAN_BYTES)
}

function randomHex(bytes: number): string {
  for (;;) {
    if (offset + bytes > POOL_BYTES) {
      randomFillSync(pool)
      offset = 0
    }
    const text = pool.toString('hex', offset, offset + bytes)
    offset += bytes
    // The specification takes ids of zeros for none.
    if (/[^0]/.test(text)) return text
  }
}
