import { type Bytes, concat, isSame, utf8 } from './bytes.ts'
import { must } from './failed.ts'
import { Members } from './members.ts'
import { sha256 } from './sha256.ts'
import type { Found } from './steps.ts'

const LEAF = Uint8Array.of(0)
const NODE = Uint8Array.of(1)
const SUM_BYTES = 16
const SUM_END = 2n ** 128n

interface SumNode {
  readonly hash: Bytes
  /** Nanos of coin. */
  readonly sum: bigint
}

/** A sum tree as an attestation states it. */
export interface SumTreeHead {
  readonly leaves: number
  readonly height: number
  readonly root: Bytes
  readonly sum: bigint
}

/** The proof of an account's place in a tree, as shown to the account. */
export interface Liability {
  readonly account: string
  readonly salt: Bytes
  readonly position: number
  readonly leaf: SumNode
  /** The neighbours on the way up, from the leaf. */
  readonly path: readonly SumNode[]
}

/** Reads a proof of liability. @throws Failed if it is malformed or of another attestation */
export function readLiability(
  json: unknown,
  attestation: { readonly number: string; readonly sha256: Bytes },
): Found<Liability> {
  const file = new Members(json, 'liability')
  file.oneOf('object', ['liability'])
  const of = file.object('attestation')
  const isOf = of.text('number') === attestation.number && isSame(of.hash('sha256'), attestation.sha256)
  must(isOf, `the proof is of attestation ${of.text('number')}, not of this one`)
  const account = file.text('account')
  const leaf = { hash: file.hash('leaf'), sum: file.digits('amount_nanos') }
  const path = file.objects('path').map((node) => ({ hash: node.hash('hash'), sum: node.digits('sum_nanos') }))
  const value = { account, salt: file.hash('salt'), position: file.count('position'), leaf, path }
  return { value, reason: `${account} has ${leaf.sum} nanos` }
}

/** Checks that the leaf is that of the account and its amount. @throws Failed otherwise */
export function checkLeaf({ account, salt, leaf }: Liability): string {
  const hash = sha256(concat(LEAF, salt, sha256(utf8(account)), sumBytes(leaf.sum)))
  must(isSame(hash, leaf.hash), 'the leaf is not the hash of the account and its amount')
  return 'it is the hash of the account and its amount'
}

/**
 * Checks that the leaf is in the tree and that its amount is in the sum. Sums are unsigned, so that no sum can reduce
 * another.
 * @throws Failed otherwise
 */
export function checkPath({ position, leaf, path }: Liability, { leaves, height, root, sum }: SumTreeHead): string {
  must(position < leaves, `place ${position} is not in a tree of ${leaves} leaves`)
  must(path.length === height, `the path has ${path.length} nodes, the tree ${height} levels`)
  let [node, place] = [leaf, position]
  for (const neighbour of path) {
    node = place % 2 === 0 ? parent(node, neighbour) : parent(neighbour, node)
    place = Math.floor(place / 2)
  }
  must(isSame(node.hash, root), 'the path does not lead to the root')
  must(node.sum === sum, `the path adds up to ${node.sum} nanos, the tree to ${sum}`)
  return `place ${position} of ${leaves}, of ${sum} nanos in all`
}

function parent(left: SumNode, right: SumNode): SumNode {
  const hash = sha256(concat(NODE, left.hash, sumBytes(left.sum), right.hash, sumBytes(right.sum)))
  return { hash, sum: left.sum + right.sum }
}

/** An unsigned integer of 16 bytes, the most significant first. */
function sumBytes(sum: bigint): Bytes {
  must(sum >= 0n && sum < SUM_END, `${sum} is no amount of the tree`)
  const bytes = new Uint8Array(SUM_BYTES)
  const view = new DataView(bytes.buffer)
  view.setBigUint64(0, sum >> 64n)
  view.setBigUint64(8, BigInt.asUintN(64, sum))
  return bytes
}
