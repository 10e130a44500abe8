import { createHash, hash } from 'node:crypto'
import { isMultipart, parseMultipart } from '../../upload/multipart.ts'
import type { RunLimits } from './limits.ts'

/**
 * The hash that identifies a request's body: SHA-256, base64url. For a form, fields and files are hashed, because clients
 * choose a new boundary each time.
 * @throws GatewayError as `parseMultipart`
 */
export function bodyHash(body: Buffer, contentType: string, limits: RunLimits): string {
  if (!isMultipart(contentType)) return hash('sha256', body, 'base64url')
  const sum = createHash('sha256')
  for (const { name, filename, data } of parseMultipart(body, contentType, limits)) {
    // The length keeps the end of one part from being taken for the beginning of the next.
    sum.update(`${JSON.stringify([name, filename, data.length])}\n`).update(data)
  }
  return sum.digest('base64url')
}
