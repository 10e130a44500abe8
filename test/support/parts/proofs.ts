import assert from 'node:assert/strict'
import { proveHead, type SignedHead, signedPlace } from '../../../control/book/checkpoint/checkpointReads.ts'
import { inclusionProof } from '../../../control/book/usagelog/inclusionProof.ts'
import { leafHash, verifyInclusion } from '../../../control/book/usagelog/merkle.ts'
import type { Pool } from '../../../control/runtime/db/pool.ts'
import { TEST_LOG_VERIFIER } from '../logKey.ts'
import { readCheckpoint } from '../noteVerifier.ts'
import { present } from '../present.ts'

const bytes = (hex: string): Buffer => Buffer.from(hex, 'hex')

/** Proves a receipt by its place, from its leaf to the signed checkpoint. @returns its leaf and the head it is proved by */
export async function assertProved(
  pool: Pool,
  log: number,
  position: number,
): Promise<{ leaf: Buffer; signed: SignedHead }> {
  const signed = await proveHead(pool, log, present(await signedPlace(pool, log, position)))
  const proof = present(await inclusionProof(pool, { log, position }, signed.head))
  const leaf = bytes(proof.leaf)
  assert.ok(verifyInclusion(leaf, position, proof.tree_size, proof.proof.map(bytes), signed.head.root))
  const { size, root } = readCheckpoint(signed.note, TEST_LOG_VERIFIER)
  assert.ok(verifyInclusion(leafHash(signed.entry), signed.position, size, signed.path.map(bytes), root))
  return { leaf, signed }
}
