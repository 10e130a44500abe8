import { readFile } from 'node:fs/promises'
import { basename } from 'node:path'
import { type Address, parseAddress } from '../../../contract/payments/address.ts'
import type { PaymentAsset } from '../../../contract/payments/terms.ts'
import { textOf, usdOf } from '../../catalog/pricing/values.ts'
import { type Field, YamlReader } from '../../catalog/pricing/yamlReader.ts'

const KEYS = [
  'chain_id',
  'confirmations',
  'final_blocks',
  'deposit_confirmations',
  'coin',
  'stablecoin',
  'agent_registry',
  'refund_min_usd',
  'deposit_min_usd',
  'withdrawal_min_usd',
  'min_charge_usd',
  'block_seconds',
]
const CONFIRMATIONS = 1
const FINAL_BLOCKS = 30
const DEPOSIT_CONFIRMATIONS = 12
const BLOCKS_MAX = 10_000
/** The slowest of the chains in common use: a slot of Ethereum. */
const BLOCK_SECONDS = 12
const BLOCK_SECONDS_MAX = 60
const TOKEN_KEYS = ['address', 'decimals', 'name', 'version']
const STABLECOIN_KEYS = [...TOKEN_KEYS, 'usd']
const DECIMALS_MAX = 24
/** The domain of a coin that is paid through Permit2 is never signed for; clients want one all the same. */
const VERSION = '1'
const MINIMUM_UNITS = 10_000_000
const MINIMUM_MOVED_UNITS = 1_000_000_000

/** What the operator says of the chain. Amounts are units. */
export interface PaymentsFile {
  readonly chainId: number
  /** Blocks that a payment has to be deep before its request is served, its own counted. */
  readonly confirmations: number
  /** Blocks after which nothing is expected to be taken back. */
  readonly finalBlocks: number
  /** Blocks that a transfer to the treasury has to be deep before it counts as a deposit. */
  readonly depositConfirmations: number
  readonly assets: readonly PaymentAsset[]
  readonly agentRegistry: Address | null
  /** What is left of a payment and the credit of its payer goes back once it comes to this much. */
  readonly refundMinUnits: number
  readonly depositMinUnits: number
  readonly withdrawalMinUnits: number
  /** The smallest charge of a request that is paid for by itself: what its settlement and refund cost. */
  readonly minChargeUnits: number
  /** From one block to the next. */
  readonly blockSeconds: number
}

/**
 * Reads and checks the file that SLUICE_PAYMENTS names.
 * @throws CatalogError with a line per problem, each naming the file, the line and the reason
 */
export async function readPaymentsFile(path: string): Promise<PaymentsFile> {
  return parsePaymentsFile(basename(path), await readFile(path, 'utf8'))
}

/** Parses the text of such a file. @param file its name, for messages */
export function parsePaymentsFile(file: string, text: string): PaymentsFile {
  const reader = new YamlReader(file, text, 'the file')
  const { root } = reader
  const map = reader.map(root, KEYS)
  const chainId = numberOf(reader, reader.required(map, root, 'chain_id'), Number.MAX_SAFE_INTEGER)
  const assets: PaymentAsset[] = []
  const stablecoin = map.get('stablecoin')
  // First the one that needs no approval: clients take the first that they can pay.
  if (stablecoin !== undefined) assets.push(readStablecoin(reader, stablecoin))
  const coin = map.get('coin')
  if (coin !== undefined) assets.push(readCoin(reader, coin))
  if (assets.length === 0) reader.problem(root, 'must have a coin, a stablecoin or both')
  if (assets.length === 2 && assets[0]?.address === assets[1]?.address) {
    reader.problem(root, 'must have two different tokens as coin and stablecoin')
  }
  const registry = map.get('agent_registry')
  const units = (name: string, fallback: number): number => {
    const field = map.get(name)
    return field === undefined ? fallback : usdOf(reader, field)
  }
  const whole = (name: string, fallback: number, max: number): number => {
    const field = map.get(name)
    return field === undefined ? fallback : numberOf(reader, field, max)
  }
  const parsed = {
    chainId,
    confirmations: whole('confirmations', CONFIRMATIONS, BLOCKS_MAX),
    finalBlocks: whole('final_blocks', FINAL_BLOCKS, BLOCKS_MAX),
    depositConfirmations: whole('deposit_confirmations', DEPOSIT_CONFIRMATIONS, BLOCKS_MAX),
    assets,
    agentRegistry: registry === undefined ? null : tokenAddressOf(reader, registry),
    refundMinUnits: units('refund_min_usd', MINIMUM_UNITS),
    depositMinUnits: units('deposit_min_usd', MINIMUM_MOVED_UNITS),
    withdrawalMinUnits: units('withdrawal_min_usd', MINIMUM_MOVED_UNITS),
    minChargeUnits: units('min_charge_usd', MINIMUM_UNITS),
    blockSeconds: whole('block_seconds', BLOCK_SECONDS, BLOCK_SECONDS_MAX),
  }
  reader.finish()
  return parsed
}

function readStablecoin(reader: YamlReader, field: Field): PaymentAsset {
  const map = reader.map(field, STABLECOIN_KEYS)
  const usd = reader.required(map, field, 'usd')
  const usdUnits = usd === undefined ? 0 : usdOf(reader, usd)
  if (usd !== undefined && usdUnits === 0) reader.problem(usd, 'must be more than zero')
  return {
    id: 'stablecoin',
    address: tokenAddressOf(reader, reader.required(map, field, 'address')),
    decimals: decimalsOf(reader, reader.required(map, field, 'decimals')),
    name: textOf(reader, reader.required(map, field, 'name')),
    version: textOf(reader, reader.required(map, field, 'version')),
    method: 'eip3009',
    usdUnits,
  }
}

function readCoin(reader: YamlReader, field: Field): PaymentAsset {
  const map = reader.map(field, TOKEN_KEYS)
  const version = map.get('version')
  return {
    id: 'coin',
    address: tokenAddressOf(reader, reader.required(map, field, 'address')),
    decimals: decimalsOf(reader, reader.required(map, field, 'decimals')),
    name: textOf(reader, reader.required(map, field, 'name')),
    version: version === undefined ? VERSION : textOf(reader, version),
    method: 'permit2',
    usdUnits: 0,
  }
}

function tokenAddressOf(reader: YamlReader, field: Field | undefined): Address {
  if (field === undefined) return '0x'
  const address = parseAddress(reader.scalar(field))
  if (address !== undefined) return address
  reader.problem(field, 'must be an address in quotes: "0x" and 40 hex digits')
  return '0x'
}

function decimalsOf(reader: YamlReader, field: Field | undefined): number {
  return numberOf(reader, field, DECIMALS_MAX)
}

function numberOf(reader: YamlReader, field: Field | undefined, max: number): number {
  if (field === undefined) return 0
  const value = reader.scalar(field)
  if (typeof value === 'number' && Number.isSafeInteger(value) && value > 0 && value <= max) return value
  reader.problem(field, `must be a positive whole number up to ${max}`)
  return 0
}
