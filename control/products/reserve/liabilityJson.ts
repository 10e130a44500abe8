import { GatewayError } from '../../../contract/errors/errors.ts'
import { coinAccount } from '../../book/ledger/accounts.ts'
import type { Queryable } from '../../runtime/db/pool.ts'
import { type Attestation, lastAttestation } from './attestationStore.ts'
import { liabilitySecret, saltKey, saltOf } from './salts.ts'
import { decimal } from './statedReserve.ts'
import { heightOf, type SumNode } from './sumTree.ts'
import { leafProof } from './treeStore.ts'

const NONE_YET = 'The reserve has not been attested yet; try again later.'

/**
 * GET /v1/account/liability: the account's leaf in the tree of the last attestation, and the way up to its root.
 * @throws GatewayError attestation_not_found before the first one, and for an account that was opened later
 */
export async function liabilityJson(db: Queryable, accountId: string) {
  const attestation = await lastAttestation(db)
  if (attestation === undefined) throw new GatewayError('attestation_not_found', { message: NONE_YET })
  const { number, digest, leaves, root, sumNanos } = attestation
  const account = coinAccount(accountId)
  const salt = saltOf(saltKey(await liabilitySecret(db), number), account)
  const proof = await leafProof(db, { attestation: number, leaves }, account, salt)
  if (proof === undefined) throw notYet(attestation)
  const { position, leaf, path } = proof
  return {
    object: 'liability' as const,
    attestation: { number: String(number), sha256: digest },
    account,
    salt: salt.toString('hex'),
    amount_nanos: leaf.sum.toString(),
    amount: decimal(leaf.sum),
    position,
    leaf: leaf.hash.toString('hex'),
    path: path.map(nodeJson),
    leaves,
    height: heightOf(leaves),
    root: root.toString('hex'),
    sum_nanos: sumNanos.toString(),
  }
}

function nodeJson({ hash, sum }: SumNode) {
  return { hash: hash.toString('hex'), sum_nanos: sum.toString() }
}

function notYet({ attestedAt }: Attestation): GatewayError {
  const message = `The last attestation, of ${attestedAt.toISOString()}, is older than this account; the next one has it.`
  return new GatewayError('attestation_not_found', { message })
}
