import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Address, getContractAddress, type Hex, maxUint256, parseEther } from 'viem'
import { distributorInitCode, lockTokensInitCode, vaultInitCode } from '../../chain/deploy/initCodes.ts'
import type { LaunchLimits } from '../limits.ts'
import { type AnvilNode, DEV_CHAIN_ID, startAnvil } from './anvil.ts'
import {
  DEMO_TOKEN_ABI,
  type DevClient,
  type DevContracts,
  deployContracts,
  devAccount,
  devClient,
  devPrivateKey,
  EXACT_PROXY,
  PERMIT2,
  provideAnchor,
  provideContract,
} from './deploy.ts'

const [TREASURY, RELAYER, PAYER] = [1, 2, 3]
const COIN_DECIMALS = 18
const STABLECOIN_DECIMALS = 6
const SETTLEMENT_SECONDS = 20
const REVENUE_SECONDS = 60
const TOP_UP = 1_000n
const TOP_UP_BELOW = 100n

/** A wallet that a stranger can pay with immediately; its key is public, like every key of a development chain. */
export interface DemoPayer {
  readonly address: Address
  readonly private_key: Hex
}

/** A development chain on which the demo takes payments. */
export interface DemoChain {
  readonly node: AnvilNode
  readonly payer: DemoPayer
  readonly contracts: DevContracts
  /** For control. */
  readonly env: Readonly<Record<string, string>>
}

/**
 * Starts a development chain in a data folder, with test tokens, Permit2 and a payer that has money. A restart continues the
 * same chain, since the book is bound to it.
 * @throws AnvilMissing with instructions; Error when the node does not start, or its chain is incomplete
 */
export async function startDemoChain(dataDir: string, logFile: string, limits: LaunchLimits): Promise<DemoChain> {
  const dir = join(dataDir, 'chain')
  const node = await startAnvil({ dir, logFile, keepState: true, limits })
  try {
    const client = devClient(node.rpcUrl)
    const contracts = await provideContracts(client, dir)
    const payer = devAccount(PAYER).address
    await fill(client, contracts, payer)
    await fill(client, contracts, devAccount(TREASURY).address)
    await approve(client, contracts.coin)
    const roles = { admin: devAccount(0).address, anchorer: devAccount(RELAYER).address }
    const anchor = await provideAnchor(client, roles)
    const holders = await provideHolders(client, contracts.coin)
    const paymentsPath = join(dataDir, 'demo-payments.yaml')
    const locks = await provideContract(client, lockTokensInitCode(devAccount(TREASURY).address))
    writeFileSync(paymentsPath, demoPaymentsFile(contracts, anchor, holders, locks))
    const env = {
      CHAIN_RPC_URL: node.rpcUrl,
      SLUICE_PAYMENTS: paymentsPath,
      SLUICE_TREASURY_KEY: devPrivateKey(TREASURY),
      SLUICE_RELAYER_KEYS: devPrivateKey(RELAYER),
    }
    return { node, payer: { address: payer, private_key: devPrivateKey(PAYER) }, contracts, env }
  } catch (error) {
    await node.process.stop()
    throw error
  }
}

/** The contracts that an earlier start deployed, at the addresses that follow from the deployer's nonces; else new ones. */
async function provideContracts(client: DevClient, dir: string): Promise<DevContracts> {
  const deployer = devAccount(0).address
  const nonce = await client.getTransactionCount({ address: deployer })
  if (nonce === 0) return deployContracts(client)
  if ((await client.getCode({ address: EXACT_PROXY })) === undefined) {
    throw new Error(`the development chain in ${dir} is not whole; delete this folder and start with an empty book`)
  }
  const [coin, stablecoin, registry] = [0n, 1n, 2n].map((at) => getContractAddress({ from: deployer, nonce: at }))
  if (coin === undefined || stablecoin === undefined || registry === undefined) throw new Error('three are three')
  return { coin, stablecoin, registry }
}

/** Mints for a wallet that has little left. */
async function fill(client: DevClient, { coin, stablecoin }: DevContracts, to: Address): Promise<void> {
  for (const [address, decimals] of [
    [coin, COIN_DECIMALS],
    [stablecoin, STABLECOIN_DECIMALS],
  ] as const) {
    const whole = 10n ** BigInt(decimals)
    const token = { address, abi: DEMO_TOKEN_ABI } as const
    const has = await client.readContract({ ...token, functionName: 'balanceOf', args: [to] })
    if (has >= TOP_UP_BELOW * whole) continue
    const hash = await client.writeContract({ ...token, functionName: 'mint', args: [to, TOP_UP * whole] })
    await client.waitForTransactionReceipt({ hash })
  }
}

/** The contracts that pay the coin's holders. */
interface HolderContracts {
  readonly vault: Address
  readonly distributor: Address
}

async function provideHolders(client: DevClient, coin: Address): Promise<HolderContracts> {
  const vaultParts = { coin, name: 'Vault of Demo Coin', symbol: 'vCOIN', vestSeconds: REVENUE_SECONDS }
  const roles = { coin, admin: devAccount(0).address, publisher: devAccount(RELAYER).address }
  return {
    vault: await provideContract(client, vaultInitCode(vaultParts)),
    distributor: await provideContract(client, distributorInitCode(roles)),
  }
}

/** The payer's coin may be moved by Permit2, as x402 wants it. */
async function approve(client: DevClient, coin: Address): Promise<void> {
  const account = devAccount(PAYER)
  await client.setBalance({ address: account.address, value: parseEther('100') })
  const args = [PERMIT2, maxUint256] as const
  const call = { address: coin, abi: DEMO_TOKEN_ABI, functionName: 'approve', args, account } as const
  await client.waitForTransactionReceipt({ hash: await client.writeContract(call) })
}

/** The text of the demo's payments file. */
export function demoPaymentsFile(
  { coin, stablecoin, registry }: DevContracts,
  anchor: Address,
  { vault, distributor }: HolderContracts,
  lockTokens: Address,
): string {
  return `# Written at every start of the demo. For a chain of your own, see docs/operations/chain.md.
chain_id: ${DEV_CHAIN_ID}
deposit_confirmations: 1
# So little that the demo shows a refund after each request.
refund_min_usd: "0.000001"
# Gas costs nothing here, and a block is made of every transaction.
min_charge_usd: "0"
gas_fee_usd: "0"
block_seconds: 1
coin: { address: "${coin}", decimals: ${COIN_DECIMALS}, name: Demo Coin }
stablecoin: { address: "${stablecoin}", decimals: ${STABLECOIN_DECIMALS}, name: USD Coin, version: "2", usd: "1" }
agent_registry: "${registry}"
# Often, so that the demo shows batches.
settlement_anchor: "${anchor}"
settlement_interval_seconds: ${SETTLEMENT_SECONDS}
# The demo has one account; its charges are nobody's secret.
settlement_accounts_min: 1
scoin_vault: "${vault}"
vault_share_bps: 1000
reward_distributor: "${distributor}"
# So little, and so often, that the demo shows rewards.
rewards_min_coin: "0"
revenue_period_seconds: ${REVENUE_SECONDS}
lock_tokens: "${lockTokens}"
`
}
