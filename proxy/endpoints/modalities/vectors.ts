import { isJsonObject } from '../../../contract/std/jsonObject.ts'
import { spanValue } from '../../json/jsonSpans.ts'

const FLOAT_BYTES = 4

/**
 * Writes vectors in the other encoding: arrays of numbers, or base64 of 32-bit floats, lowest byte first.
 * @param json the member `data` of an embeddings answer
 * @returns JSON bytes, or null when a vector cannot be read
 */
export function convertVectors(json: Buffer, to: 'float' | 'base64'): Buffer | null {
  const data = spanValue(json, { start: 0, end: json.length })
  if (!Array.isArray(data)) return null
  const converted: unknown[] = []
  for (const item of data as unknown[]) {
    const vector = isJsonObject(item)
      ? to === 'base64'
        ? packed(item['embedding'])
        : unpacked(item['embedding'])
      : null
    if (vector === null) return null
    converted.push({ ...(item as object), embedding: vector })
  }
  return Buffer.from(JSON.stringify(converted))
}

function packed(vector: unknown): string | null {
  if (!Array.isArray(vector) || !vector.every((number) => typeof number === 'number')) return null
  const bytes = Buffer.allocUnsafe(vector.length * FLOAT_BYTES)
  vector.forEach((number, index) => {
    bytes.writeFloatLE(number, index * FLOAT_BYTES)
  })
  return bytes.toString('base64')
}

function unpacked(vector: unknown): number[] | null {
  if (typeof vector !== 'string') return null
  const bytes = Buffer.from(vector, 'base64')
  if (bytes.length === 0 || bytes.length % FLOAT_BYTES !== 0) return null
  return Array.from({ length: bytes.length / FLOAT_BYTES }, (_, index) => bytes.readFloatLE(index * FLOAT_BYTES))
}
