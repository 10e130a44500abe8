import { type Bytes, isSame, toHex, utf8 } from './bytes.ts'
import { must } from './failed.ts'
import { Members } from './members.ts'
import { sha256 } from './sha256.ts'
import { HASH_BYTES, type TreeHead } from './tree.ts'

/**
 * Keccak-256 of the event of SettlementAnchor.sol,
 * Anchored(uint256,uint64,uint64,uint64,bytes32,bytes32,uint128,uint128,uint128).
 */
const ANCHORED_TOPIC = '0xf5630ac1493570cbd06f55ebd335519665183a5241475f9b503905e6d91ce45d'
const FORM = 'sluice-settlement/1'
const WORDS = 8
const ADDRESS = /^0x[0-9a-f]{40}$/
const QUANTITY = /^0x(0|[1-9a-f][0-9a-f]{0,13})$/

/** A settlement batch as on the chain. `size` and `root` are those of the log of heads; amounts are units. */
export interface Batch extends TreeHead {
  readonly number: bigint
  readonly block: number
  readonly receiptsFrom: bigint
  readonly receiptsTo: bigint
  /** SHA-256. */
  readonly statement: Bytes
  readonly chargedUnits: bigint
  readonly heldUnits: bigint
  readonly owedUnits: bigint
}

/**
 * Reads the batch that a transaction has anchored.
 * @param json the answer of eth_getTransactionReceipt: the receipt, or the response with it as `result`
 * @param contract the address of the expected contract
 * @throws Failed if the transaction has anchored no batch there
 */
export function readBatch(json: unknown, contract: string | undefined): Batch {
  const address = contract?.toLowerCase() ?? ''
  must(ADDRESS.test(address), 'no address of the contract was given, 0x and 40 hex digits')
  const answer = new Members(json, 'the answer of the node')
  const receipt = answer.has('jsonrpc') ? answer.object('result') : answer
  must(receipt.text('status') === '0x1', 'the transaction failed')
  const logs = receipt.objects('logs').filter((log) => {
    return log.text('address').toLowerCase() === address && log.items('topics')[0] === ANCHORED_TOPIC
  })
  const [log] = logs
  must(log !== undefined && logs.length === 1, `the transaction has anchored no batch in ${address}`)
  return { block: quantity(receipt.text('blockNumber'), 'block'), ...contentOf(log) }
}

function contentOf(log: Members): Omit<Batch, 'block'> {
  const [, topic] = log.items('topics')
  const data = log.text('data').toLowerCase()
  must(typeof topic === 'string' && /^0x[0-9a-f]{64}$/.test(topic), 'the event has no number')
  must(new RegExp(`^0x[0-9a-f]{${WORDS * HASH_BYTES * 2}}$`).test(data), 'the event has not the form of a batch')
  const hex = (at: number): string => data.slice(2 + at * HASH_BYTES * 2, 2 + (at + 1) * HASH_BYTES * 2)
  const integer = (at: number): bigint => BigInt(`0x${hex(at)}`)
  const size = Number(integer(0))
  must(Number.isSafeInteger(size), 'the batch has more heads than can be')
  return {
    number: BigInt(topic),
    size,
    receiptsFrom: integer(1),
    receiptsTo: integer(2),
    root: bytesOf(hex(3)),
    statement: bytesOf(hex(4)),
    chargedUnits: integer(5),
    heldUnits: integer(6),
    owedUnits: integer(7),
  }
}

/**
 * Checks that a batch as the gateway shows it is the one on the chain.
 * @param origin of the receipt's checkpoint, where there is one
 * @throws Failed where its statement is another one
 */
export function checkStatement(json: unknown, batch: Batch, origin: string | undefined): string {
  const text = new Members(json, 'batch').text('statement')
  must(isSame(sha256(utf8(text)), batch.statement), 'the chain has the hash of another statement')
  const statement = new Members(parsed(text), 'statement')
  statement.oneOf('form', [FORM])
  const receipts = statement.object('receipts')
  const charged = statement.object('charged')
  const isSameBatch =
    BigInt(statement.count('number')) === batch.number &&
    statement.count('tree_size') === batch.size &&
    isSame(statement.hash('root'), batch.root) &&
    BigInt(receipts.count('from')) === batch.receiptsFrom &&
    BigInt(receipts.count('until')) === batch.receiptsTo &&
    charged.digits('units') === batch.chargedUnits
  must(isSameBatch, 'the statement does not say what the chain says')
  const named = statement.text('origin')
  must(origin === undefined || named === origin, `the statement is of ${named}, the checkpoint of ${origin}`)
  return `its hash is on the chain, ${toHex(batch.statement)}`
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function bytesOf(hex: string): Bytes {
  return Uint8Array.from({ length: HASH_BYTES }, (_, at) => Number.parseInt(hex.slice(at * 2, at * 2 + 2), 16))
}

function quantity(text: string, what: string): number {
  must(QUANTITY.test(text), `the ${what} is no number`)
  return Number(text)
}
