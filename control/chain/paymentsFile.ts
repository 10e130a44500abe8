import type { Address } from '../../contract/payments/address.ts'
import type { PaymentAsset } from '../../contract/payments/terms.ts'
import { compileSchema, readSchema } from '../../contract/schemas/schemaFaults.ts'
import { statedUnits } from '../runtime/files/statedUnits.ts'
import { readYamlFile, YamlFile } from '../runtime/files/yamlFile.ts'
import { type HolderContent, type HolderSettings, holderSettings, lowered } from './holderSettings.ts'

const WHOLE = 'the file'

/** The operator's settings of the chain. Amounts are units. */
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
  /** The rest of a payment and the credit of its payer are refunded once together they reach this much. */
  readonly refundMinUnits: number
  readonly depositMinUnits: number
  readonly withdrawalMinUnits: number
  /** The smallest charge of a request that is paid per call: the cost of its settlement and refund. */
  readonly minChargeUnits: number
  /** Of each withdrawal, for its gas. */
  readonly gasFeeUnits: number
  /** From one block to the next. */
  readonly blockSeconds: number
  /** The contract that settlement batches are anchored in; null for none. */
  readonly settlementAnchor: Address | null
  /** From one settlement batch to the next. */
  readonly settlementIntervalSeconds: number
  /** How many accounts the receipts of a settlement batch are of at least, unless it has waited long. */
  readonly settlementAccountsMin: number
  /** The holders that revenue is shared with; null for none. */
  readonly holders: HolderSettings | null
  /** The contract that tokens of compute locks are withdrawn to; null for none. */
  readonly lockTokens: Address | null
  /** Holds tokens that count as reserve in addition to the treasury; null for none. */
  readonly reserveVault: Address | null
}

/** A token as payments.schema.json describes it. */
interface TokenContent {
  readonly address: string
  readonly decimals: number
  readonly name: string
  readonly version: string
}

/** The file as payments.schema.json describes it, with its defaults. */
interface Content extends HolderContent {
  readonly chain_id: number
  readonly confirmations: number
  readonly final_blocks: number
  readonly deposit_confirmations: number
  readonly block_seconds: number
  readonly coin?: TokenContent
  readonly stablecoin?: TokenContent & { readonly usd: string }
  readonly agent_registry?: string
  readonly settlement_anchor?: string
  readonly settlement_interval_seconds: number
  readonly settlement_accounts_min: number
  readonly lock_tokens?: string
  readonly reserve_vault?: string
  readonly refund_min_usd: string
  readonly deposit_min_usd: string
  readonly withdrawal_min_usd: string
  readonly min_charge_usd: string
  readonly gas_fee_usd: string
}

const check = compileSchema(readSchema('payments'))

/**
 * Reads and checks the file that SLUICE_PAYMENTS names.
 * @throws FileError with a line per problem, each naming the file, the line and the reason
 */
export async function readPaymentsFile(path: string): Promise<PaymentsFile> {
  return parsed(await readYamlFile(path, WHOLE, 'SLUICE_PAYMENTS names the payments file'))
}

/** Parses the text of such a file. @param name that of the file, for messages */
export function parsePaymentsFile(name: string, text: string): PaymentsFile {
  return parsed(new YamlFile(name, text, WHOLE))
}

function parsed(file: YamlFile): PaymentsFile {
  const content = file.content(check) as Content
  const { coin, stablecoin } = content
  const assets: PaymentAsset[] = []
  // The method without an approval is first: clients choose the first one that they can pay.
  if (stablecoin !== undefined) {
    const usdUnits = statedUnits(stablecoin.usd)
    if (usdUnits === 0) file.problem(['stablecoin', 'usd'], 'must be more than zero')
    assets.push({ id: 'stablecoin', ...tokenOf(stablecoin), method: 'eip3009', usdUnits })
  }
  if (coin !== undefined) assets.push({ id: 'coin', ...tokenOf(coin), method: 'permit2', usdUnits: 0 })
  if (assets.length === 2 && assets[0]?.address === assets[1]?.address) {
    file.problem([], 'must have two different tokens as coin and stablecoin')
  }
  const holders = holderSettings(file, content, assets)
  file.finish()
  return {
    chainId: content.chain_id,
    confirmations: content.confirmations,
    finalBlocks: content.final_blocks,
    depositConfirmations: content.deposit_confirmations,
    assets,
    agentRegistry: content.agent_registry === undefined ? null : lowered(content.agent_registry),
    refundMinUnits: statedUnits(content.refund_min_usd),
    depositMinUnits: statedUnits(content.deposit_min_usd),
    withdrawalMinUnits: statedUnits(content.withdrawal_min_usd),
    minChargeUnits: statedUnits(content.min_charge_usd),
    gasFeeUnits: statedUnits(content.gas_fee_usd),
    blockSeconds: content.block_seconds,
    settlementAnchor: content.settlement_anchor === undefined ? null : lowered(content.settlement_anchor),
    settlementIntervalSeconds: content.settlement_interval_seconds,
    settlementAccountsMin: content.settlement_accounts_min,
    holders,
    lockTokens: content.lock_tokens === undefined ? null : lowered(content.lock_tokens),
    reserveVault: content.reserve_vault === undefined ? null : lowered(content.reserve_vault),
  }
}

function tokenOf({ address, decimals, name, version }: TokenContent) {
  return { address: lowered(address), decimals, name, version }
}
