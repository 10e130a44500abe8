// A client of settlement batches, written from docs/reference/settlements.md alone: it imports nothing of the project.
import { createHash } from 'node:crypto'

const BATCH_SELECTOR = '0eaa75fe'

/** A batch as GET /v1/settlements/NUMBER shows it, as far as it is looked at. */
interface ShownBatch {
  readonly number: number
  readonly tree_size: number
  readonly root: string
  readonly statement: string
  readonly checkpoint: string
  readonly receipts: { readonly from: number; readonly until: number }
  readonly charged: { readonly units: string }
}

/** What the chain has of it. */
export interface ChainBatch {
  readonly treeSize: number
  readonly receiptsFrom: number
  readonly receiptsTo: number
  readonly root: string
  readonly statement: string
  readonly chargedUnits: bigint
  readonly heldUnits: bigint
  readonly owedUnits: bigint
  readonly anchoredAt: number
}

/** Asks a node for a batch. @returns undefined where the contract has none of this number */
export async function readChainBatch(
  rpcUrl: string,
  contract: string,
  number: number,
): Promise<ChainBatch | undefined> {
  const data = `0x${BATCH_SELECTOR}${number.toString(16).padStart(64, '0')}`
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_call', params: [{ to: contract, data }, 'latest'] })
  const response = await fetch(rpcUrl, { method: 'POST', headers: { 'content-type': 'application/json' }, body })
  const { result } = (await response.json()) as { result?: string }
  if (result === undefined) return undefined
  const words = (result.slice(2).match(/.{64}/g) ?? []) as string[]
  const [size = '', from = '', to = '', root = '', statement = '', charged = '', held = '', owed = '', at = ''] = words
  return {
    treeSize: Number.parseInt(size, 16),
    receiptsFrom: Number.parseInt(from, 16),
    receiptsTo: Number.parseInt(to, 16),
    root,
    statement,
    chargedUnits: BigInt(`0x${charged}`),
    heldUnits: BigInt(`0x${held}`),
    owedUnits: BigInt(`0x${owed}`),
    anchoredAt: Number.parseInt(at, 16),
  }
}

/** What is wrong with a batch as the gateway shows it, compared with the chain; '' where nothing is. */
export function batchFault(shown: ShownBatch, chain: ChainBatch): string {
  const [, size = '', root = ''] = shown.checkpoint.split('\n')
  if (Number(size) !== chain.treeSize) return 'the checkpoint has another size'
  if (Buffer.from(root, 'base64').toString('hex') !== chain.root) return 'the checkpoint has another root'
  if (createHash('sha256').update(shown.statement, 'utf8').digest('hex') !== chain.statement) return 'another statement'
  const stated = JSON.parse(shown.statement) as ShownBatch
  for (const { number, tree_size, root: itsRoot, receipts, charged } of [shown, stated]) {
    if (number !== shown.number || tree_size !== chain.treeSize || itsRoot !== chain.root) return 'another batch'
    if (receipts.from !== chain.receiptsFrom || receipts.until !== chain.receiptsTo) return 'other receipts'
    if (BigInt(charged.units) !== chain.chargedUnits) return 'another charge'
  }
  return ''
}

/** A receipt as GET /v1/receipts/ID answers, as far as it is looked at. */
interface ShownReceipt {
  readonly log: {
    readonly number: number
    readonly root: string
    readonly tree_size: number
    readonly checkpoint: string
    readonly entry: string
    readonly leaf: string
    readonly position: number
    readonly proof: readonly string[]
    readonly head: {
      readonly position: number
      readonly tree_size: number
      readonly entry: string
      readonly proof: readonly string[]
    }
  }
}

/**
 * What is wrong with a receipt up to a batch on the chain; '' where nothing is.
 * @param consistency asks the gateway for the proof between two sizes of the log of heads
 */
export async function receiptFault(
  { log }: ShownReceipt,
  chain: ChainBatch,
  consistency: (from: number, to: number) => Promise<readonly string[]>,
): Promise<string> {
  if (leafHash(log.entry) !== log.leaf) return 'the leaf is not the hash of the entry'
  if (rootFrom(log.leaf, log.position, log.tree_size, log.proof) !== log.root) return 'not in its log'
  const head = `sluice-head/1\n${log.number}\n${log.tree_size}\n${Buffer.from(log.root, 'hex').toString('base64')}\n`
  if (log.head.entry !== head) return 'another head'
  const [, digits = '', encoded = ''] = log.checkpoint.split('\n')
  const [size, root] = [Number(digits), Buffer.from(encoded, 'base64').toString('hex')]
  if (log.head.tree_size !== size) return 'another checkpoint'
  if (rootFrom(leafHash(head), log.head.position, size, log.head.proof) !== root) return 'not in its checkpoint'
  if (log.head.position >= chain.treeSize) return 'in a later batch'
  if (size === chain.treeSize) return root === chain.root ? '' : 'another log'
  const [first, second] = size < chain.treeSize ? [size, chain.treeSize] : [chain.treeSize, size]
  const roots = size < chain.treeSize ? [root, chain.root] : [chain.root, root]
  const proof = await consistency(first, second)
  return isConsistent(first, second, roots[0] ?? '', roots[1] ?? '', proof) ? '' : 'not one log'
}

const sha256 = (...parts: Buffer[]): string => createHash('sha256').update(Buffer.concat(parts)).digest('hex')
const leafHash = (entry: string): string => sha256(Buffer.of(0), Buffer.from(entry, 'utf8'))
const nodeHash = (left: string, right: string): string =>
  sha256(Buffer.of(1), Buffer.from(left, 'hex'), Buffer.from(right, 'hex'))

/** RFC 9162, section 2.1.3.2. */
function rootFrom(leaf: string, position: number, size: number, proof: readonly string[]): string {
  let [hash, place, last] = [leaf, BigInt(position), BigInt(size) - 1n]
  for (const sibling of proof) {
    if (last === 0n) return ''
    if (place % 2n === 1n || place === last) {
      hash = nodeHash(sibling, hash)
      while (place % 2n === 0n && place !== 0n) [place, last] = [place >> 1n, last >> 1n]
    } else hash = nodeHash(hash, sibling)
    ;[place, last] = [place >> 1n, last >> 1n]
  }
  return last === 0n ? hash : ''
}

/** RFC 9162, section 2.1.4.2. */
export function isConsistent(
  first: number,
  second: number,
  firstRoot: string,
  secondRoot: string,
  proof: readonly string[],
): boolean {
  const isPower = Number.isInteger(Math.log2(first))
  const [seed, ...rest] = isPower ? [firstRoot, ...proof] : proof
  if (seed === undefined || proof.length === 0) return false
  let [place, last] = [BigInt(first) - 1n, BigInt(second) - 1n]
  while (place % 2n === 1n) [place, last] = [place >> 1n, last >> 1n]
  let [one, two] = [seed, seed]
  for (const hash of rest) {
    if (last === 0n) return false
    if (place % 2n === 1n || place === last) {
      ;[one, two] = [nodeHash(hash, one), nodeHash(hash, two)]
      while (place % 2n === 0n && place !== 0n) [place, last] = [place >> 1n, last >> 1n]
    } else two = nodeHash(two, hash)
    ;[place, last] = [place >> 1n, last >> 1n]
  }
  return last === 0n && one === firstRoot && two === secondRoot
}
