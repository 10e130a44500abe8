import {
  type Account,
  type Address,
  concat,
  createTestClient,
  defineChain,
  encodeDeployData,
  getContractAddress,
  type Hex,
  http,
  parseAbi,
  publicActions,
  walletActions,
  zeroHash,
} from 'viem'
import { mnemonicToAccount } from 'viem/accounts'
import { contractCode } from '../../chain/deploy/contractCodes.ts'
import { type AnchorRoles, anchorInitCode } from '../../chain/deploy/initCodes.ts'
import { DEV_CHAIN_ID } from './anvil.ts'

/** The mnemonic that every development node funds: its keys are public. */
const DEV_MNEMONIC = 'test test test test test test test test test test test junk'
const POLLING_MS = 20
// `viem/chains` has one too, and loads 700 files with it.
const DEV_CHAIN = defineChain({
  id: DEV_CHAIN_ID,
  name: 'Development',
  nativeCurrency: { name: 'Ether', symbol: 'ETH', decimals: 18 },
  rpcUrls: { default: { http: [] } },
})
const CREATE2_DEPLOYER: Address = '0x4e59b44847b379578588920cA78FbF26c0B4956C'
/** Leads to the address that Permit2 has on every chain; https://docs.uniswap.org/contracts/permit2/overview */
const PERMIT2_SALT: Hex = '0x0000000000000000000000000000000000000000d3af2663da51c10215000000'
export const PERMIT2: Address = '0x000000000022D473030F116dDEE9F6B43aC78BA3'
/** The spender of x402 `exact`. */
export const EXACT_PROXY: Address = '0x402085c248EeA27D92E8b30b2C58ed07f9E20001'

/** Functions of the demo tokens that fill wallets. */
export const DEMO_TOKEN_ABI = parseAbi([
  'function mint(address to, uint256 value)',
  'function approve(address spender, uint256 value) returns (bool)',
  'function balanceOf(address) view returns (uint256)',
  'function transfer(address to, uint256 value) returns (bool)',
])

/** The contracts of a development chain. */
export interface DevContracts {
  readonly coin: Address
  readonly stablecoin: Address
  readonly registry: Address
}

/** A client of a development node that may also mine, mint and take back blocks. */
export function devClient(rpcUrl: string, account: Account = devAccount(0)) {
  return createTestClient({
    account,
    chain: DEV_CHAIN,
    mode: 'anvil',
    pollingInterval: POLLING_MS,
    transport: http(rpcUrl),
  })
    .extend(publicActions)
    .extend(walletActions)
}

export type DevClient = ReturnType<typeof devClient>

/** One of the ten funded accounts of a development node. Number 0 deploys the contracts and mints the tokens. */
export function devAccount(index: number) {
  return mnemonicToAccount(DEV_MNEMONIC, { addressIndex: index })
}

/** The private key of a funded account of a development node. */
export function devPrivateKey(index: number): Hex {
  const key = devAccount(index).getHdKey().privateKey
  if (!key) throw new Error('the mnemonic gives no private key')
  return `0x${Buffer.from(key).toString('hex')}`
}

/** Deploys one of the contracts in contracts.json. @returns its address */
export async function deployContract(
  client: DevClient,
  name: 'Coin' | 'Stablecoin' | 'IdentityRegistry' | 'Wallet',
  argument?: Address,
): Promise<Address> {
  const data =
    argument === undefined
      ? contractCode(name)
      : encodeDeployData({ abi: parseAbi(['constructor(address)']), bytecode: contractCode(name), args: [argument] })
  const hash = await client.sendTransaction({ data, to: null })
  const receipt = await client.waitForTransactionReceipt({ hash })
  if (!receipt.contractAddress) throw new Error(`${name} was not deployed`)
  return receipt.contractAddress
}

/**
 * Deploys the contracts for payments on a fresh development chain: Permit2 and the spender of x402 at their usual addresses,
 * a coin, a stablecoin with EIP-3009, and an ERC-8004 registry.
 */
export async function deployContracts(client: DevClient): Promise<DevContracts> {
  // Sent one after the other: their addresses follow from the deployer's nonce, so they are the same on every chain.
  const coin = await deployContract(client, 'Coin')
  const stablecoin = await deployContract(client, 'Stablecoin')
  const registry = await deployContract(client, 'IdentityRegistry')
  const hash = await client.sendTransaction({
    to: CREATE2_DEPLOYER,
    data: concat([PERMIT2_SALT, contractCode('Permit2')]),
  })
  await client.waitForTransactionReceipt({ hash })
  if ((await client.getCode({ address: PERMIT2 })) === undefined) throw new Error(`Permit2 is not at ${PERMIT2}`)
  await client.setCode({ address: EXACT_PROXY, bytecode: contractCode('ExactPermit2Proxy') })
  return { coin, stablecoin, registry }
}

/**
 * A contract on a development chain, at the address that its init code determines (CREATE2); deploys it if it is missing.
 */
export async function provideContract(client: DevClient, bytecode: Hex): Promise<Address> {
  const address = getContractAddress({ opcode: 'CREATE2', from: CREATE2_DEPLOYER, salt: zeroHash, bytecode })
  if ((await client.getCode({ address })) !== undefined) return address
  const hash = await client.sendTransaction({ to: CREATE2_DEPLOYER, data: concat([zeroHash, bytecode]) })
  await client.waitForTransactionReceipt({ hash })
  if ((await client.getCode({ address })) === undefined) throw new Error(`there is no contract at ${address}`)
  return address
}

/** A SettlementAnchor contract on a development chain, as `provideContract`. */
export function provideAnchor(client: DevClient, roles: AnchorRoles): Promise<Address> {
  return provideContract(client, anchorInitCode(roles))
}
