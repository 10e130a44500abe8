import { canonicalJson } from '../../../contract/payments/canonicalJson.ts'
import type { StoredCheckpoint } from '../../book/checkpoint/checkpointReads.ts'
import type { StoredSigner } from '../../catalog/signing/catalogStore.ts'
import { decimal, type StatedReserve } from './statedReserve.ts'
import type { TreeTop } from './treeBuilder.ts'

/** The layout of attestations, and the first line of the signed text; a changed layout gets another name. */
const ATTESTATION_LAYOUT = 'sluice-attestation/1'
const TREE_LAYOUT = 'sluice-liabilities/1'

/** Why an attestation was made: it was due, the addresses are others, or the operator asked for it. */
export type AttestationReason = 'schedule' | 'addresses' | 'operator' | 'reorganization'

/** The contents of an attestation. */
export interface AttestationFacts {
  readonly number: number
  /** Undefined for the first. */
  readonly previous: { readonly number: number; readonly digest: string } | undefined
  readonly reason: AttestationReason
  readonly attestedAt: Date
  readonly signer: StoredSigner
  /** The last one of the book; undefined where none is signed. */
  readonly checkpoint: StoredCheckpoint | undefined
  readonly reserve: StatedReserve
  readonly tree: TreeTop
}

/** The text of an attestation: canonical JSON (RFC 8785), with strings and integers only. */
export function attestationText(facts: AttestationFacts): string {
  const { number, previous, reason, attestedAt, signer, checkpoint, reserve, tree } = facts
  return canonicalJson({
    object: 'reserve_attestation',
    layout: ATTESTATION_LAYOUT,
    number: String(number),
    previous: previous === undefined ? null : { number: String(previous.number), sha256: previous.digest },
    reason,
    attested_at: attestedAt.toISOString(),
    signer: { number: String(signer.number), ...signer.keys },
    book: checkpoint === undefined ? null : bookOf(checkpoint),
    reserve,
    liabilities: {
      layout: TREE_LAYOUT,
      leaves: tree.leaves,
      height: tree.height,
      root: tree.hash.toString('hex'),
      sum_nanos: tree.sum.toString(),
      sum: decimal(tree.sum),
    },
  })
}

function bookOf({ size, note, key }: StoredCheckpoint) {
  const [origin = '', , root = ''] = note.split('\n')
  return { origin, tree_size: size, root: Buffer.from(root, 'base64').toString('hex'), checkpoint: note, key }
}

/** The text that the signatures of an attestation sign. @param digest SHA-256 of its text, in hex */
export function attestationStatement(number: number, digest: string): string {
  return [ATTESTATION_LAYOUT, number, digest].join('\n')
}
