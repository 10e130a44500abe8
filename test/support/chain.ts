import { join } from 'node:path'
import { type Address, type Hex, maxUint256, parseAbi, parseEther, WaitForTransactionReceiptTimeoutError } from 'viem'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { type AnvilNode, type AnvilOptions, DEV_CHAIN_ID, startAnvil } from '../../control/launch/chain/anvil.ts'
import {
  DEMO_TOKEN_ABI,
  type DevClient,
  type DevContracts,
  deployContract,
  deployContracts,
  devAccount,
  devClient,
  devPrivateKey,
  provideAnchor,
} from '../../control/launch/chain/deploy.ts'
import { limits } from './limits.ts'
import { makeTempDir, removeTempDir } from './tempDir.ts'

const PERMIT2: Address = '0x000000000022D473030F116dDEE9F6B43aC78BA3'
const REGISTRY_ABI = parseAbi([
  'function register() returns (uint256)',
  'function setAgentWallet(uint256 agentId, address newWallet, uint256 deadline, bytes signature)',
])
const TREASURY_INDEX = 1
const RELAYER_INDEX = 2
const RECEIPT_WAIT_MS = 10_000
const RECEIPT_WAITS = 6

/** What a new payer has of the stablecoin, in atomic units. */
export const FUNDS = 1_000_000_000n

export type Payer = ReturnType<typeof privateKeyToAccount> & { readonly privateKey: Hex }

/** What a new payer has; amounts are atomic. */
export interface PayerFunds {
  readonly coin?: bigint
  readonly stablecoin?: bigint
  /** Approves Permit2 for the coin. Default: true. */
  readonly approve?: boolean
}

/** A real EVM node with the contracts that payments need. */
export class TestChain {
  readonly node: AnvilNode
  readonly client: DevClient
  readonly contracts: DevContracts
  readonly chainId = DEV_CHAIN_ID
  private readonly dir: string

  constructor(node: AnvilNode, client: DevClient, contracts: DevContracts, dir: string) {
    this.node = node
    this.client = client
    this.contracts = contracts
    this.dir = dir
  }

  get rpcUrl(): string {
    return this.node.rpcUrl
  }

  /** Receives payments and pays refunds. */
  readonly treasury = devAccount(TREASURY_INDEX)
  readonly treasuryKey = devPrivateKey(TREASURY_INDEX)
  /** Pays the gas of settlements. */
  readonly relayer = devAccount(RELAYER_INDEX)
  readonly relayerKey = devPrivateKey(RELAYER_INDEX)

  /** A new wallet with gas money and tokens; by default 1000 of each, with the coin approved to Permit2. */
  async newPayer(funds: PayerFunds = {}): Promise<Payer> {
    const privateKey = generatePrivateKey()
    const payer = { ...privateKeyToAccount(privateKey), privateKey }
    await this.client.setBalance({ address: payer.address, value: parseEther('10') })
    await this.mint('coin', payer.address, funds.coin ?? parseEther('1000'))
    await this.mint('stablecoin', payer.address, funds.stablecoin ?? FUNDS)
    if (funds.approve !== false) await this.approve(payer)
    return payer
  }

  /** Approves Permit2 to move the payer's coin. */
  async approve(payer: Payer, value: bigint = maxUint256): Promise<void> {
    const args = [PERMIT2, value] as const
    const call = { address: this.contracts.coin, abi: DEMO_TOKEN_ABI, functionName: 'approve', args } as const
    await this.wait(await this.client.writeContract({ ...call, account: payer }))
  }

  async mint(token: 'coin' | 'stablecoin', to: Address, value: bigint): Promise<void> {
    if (value === 0n) return
    const call = {
      address: this.contracts[token],
      abi: DEMO_TOKEN_ABI,
      functionName: 'mint',
      args: [to, value],
    } as const
    await this.wait(await this.client.writeContract(call))
  }

  /** Gives the treasury 10,000 of each token, to pay from. */
  async fillTreasury(): Promise<void> {
    await this.mint('coin', this.treasury.address, parseEther('10000'))
    await this.mint('stablecoin', this.treasury.address, 10_000_000_000n)
  }

  /** Makes a block of what waits, and then one of every transaction again. */
  async resume(): Promise<void> {
    await this.client.setAutomine(true)
    await this.client.mine({ blocks: 1 })
  }

  /** Hashes of the transactions that wait for a block. */
  async pooled(): Promise<Hex[]> {
    const { pending } = await this.client.getTxpoolContent()
    return Object.values(pending).flatMap((byNonce) => Object.values(byNonce).map(({ hash }) => hash))
  }

  async transfer(token: 'coin' | 'stablecoin', from: Payer, to: Address, value: bigint): Promise<Hex> {
    const args = [to, value] as const
    const call = { address: this.contracts[token], abi: DEMO_TOKEN_ABI, functionName: 'transfer', args } as const
    const hash = await this.client.writeContract({ ...call, account: from })
    await this.wait(hash)
    return hash
  }

  balanceOf(token: 'coin' | 'stablecoin', address: Address): Promise<bigint> {
    const call = { address: this.contracts[token], abi: DEMO_TOKEN_ABI, functionName: 'balanceOf' } as const
    return this.client.readContract({ ...call, args: [address] })
  }

  /** Registers an ERC-8004 agent. @returns its id */
  async registerAgent(owner: Payer): Promise<bigint> {
    const call = { address: this.contracts.registry, abi: REGISTRY_ABI } as const
    const { result } = await this.client.simulateContract({ ...call, functionName: 'register', account: owner })
    await this.wait(await this.client.writeContract({ ...call, functionName: 'register', account: owner }))
    return result
  }

  /** Gives an agent a wallet beside its owner. */
  async setAgentWallet(owner: Payer, agentId: bigint, wallet: Payer): Promise<void> {
    const { registry } = this.contracts
    const { timestamp } = await this.client.getBlock()
    const deadline = timestamp + 120n
    const signature = await wallet.signTypedData({
      domain: { name: 'ERC8004IdentityRegistry', version: '1', chainId: this.chainId, verifyingContract: registry },
      types: {
        AgentWalletSet: [
          { name: 'agentId', type: 'uint256' },
          { name: 'newWallet', type: 'address' },
          { name: 'owner', type: 'address' },
          { name: 'deadline', type: 'uint256' },
        ],
      },
      primaryType: 'AgentWalletSet',
      message: { agentId, newWallet: wallet.address, owner: owner.address, deadline },
    })
    const args = [agentId, wallet.address, deadline, signature] as const
    const call = { address: registry, abi: REGISTRY_ABI, functionName: 'setAgentWallet', args } as const
    await this.wait(await this.client.writeContract({ ...call, account: owner }))
  }

  /** A contract for settlement batches, in which the relayer anchors. */
  provideAnchor(): Promise<Address> {
    return provideAnchor(this.client, { admin: devAccount(0).address, anchorer: this.relayer.address })
  }

  /** A contract wallet (ERC-1271) whose owner signs for it. */
  newContractWallet(owner: Address): Promise<Address> {
    return deployContract(this.client, 'Wallet', owner)
  }

  async stop(): Promise<void> {
    await this.node.process.stop()
    removeTempDir(this.dir)
  }

  private async wait(hash: Hex): Promise<void> {
    const receipt = await this.client.waitForTransactionReceipt({ hash })
    if (receipt.status !== 'success') throw new Error(`transaction ${hash} failed`)
  }
}

/** A transaction that arrives while anvil begins to mine again may stay in its pool until there is another block. */
function miningClient(client: DevClient): DevClient {
  const { waitForTransactionReceipt: wait } = client
  return {
    ...client,
    async waitForTransactionReceipt(asked) {
      for (let waits = 0; waits < RECEIPT_WAITS; waits++) {
        const receipt = await wait({ ...asked, timeout: RECEIPT_WAIT_MS }).catch(tooLate)
        if (receipt !== undefined) return receipt
        await client.mine({ blocks: 1 })
      }
      throw new Error(`transaction ${asked.hash} is in no block`)
    },
  }
}

function tooLate(error: unknown): undefined {
  if (!(error instanceof WaitForTransactionReceiptTimeoutError)) throw error
}

/** Starts a node on a free port with its contracts. Stop it with `stop()`. */
export async function startChain(options: Pick<AnvilOptions, 'flags' | 'keepState'> = {}): Promise<TestChain> {
  const dir = makeTempDir('chain')
  const node = await startAnvil({ dir, logFile: join(dir, 'anvil.log'), limits, ...options })
  try {
    const client = miningClient(devClient(node.rpcUrl))
    return new TestChain(node, client, await deployContracts(client), dir)
  } catch (error) {
    await node.process.stop()
    removeTempDir(dir)
    throw error
  }
}
