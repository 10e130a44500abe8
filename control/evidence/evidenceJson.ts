import { excessOf } from '../../contract/std/jsonExcess.ts'
import { malformed } from './evidenceError.ts'

/** Honest evidence of eight GPUs has some dozen values, TCB info of Intel some thousand. */
const BOUNDS = { depthMax: 32, membersMax: 16_384, elementsMax: 16_384 }

/**
 * Parses JSON of evidence, whose values are counted before any of it becomes an object.
 * @param what its name in errors
 * @throws EvidenceError malformed
 */
export function parseEvidence(bytes: Buffer, what: string): unknown {
  const excess = excessOf(bytes, BOUNDS)
  if (excess !== null) malformed(`${what} has too many ${excess === 'depth' ? 'levels' : excess}`)
  try {
    return JSON.parse(bytes.toString('utf8'))
  } catch {
    return malformed(`${what} is not JSON`)
  }
}
