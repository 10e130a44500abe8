// Goal: a withdrawal is minted once and by the minter alone, holders move and redeem their own tokens and nobody else does, not
// even the minter, and after the end of a series its tokens count for nothing. Method: the compiled contract on a real EVM node.
import assert from 'node:assert/strict'
import test, { after, before } from 'node:test'
import { type Address, BaseError, ContractFunctionRevertedError, parseAbi, toHex, zeroHash } from 'viem'
import { lockTokensInitCode } from '../../../control/chain/deploy/initCodes.ts'
import { devAccount, devPrivateKey, provideContract } from '../../../control/launch/chain/deploy.ts'
import {
  LOCK_TOKENS_ABI,
  numberOfId,
  seriesOfToken,
} from '../../../control/products/locks/tokens/lockTokensContract.ts'
import { startChain, type TestChain } from '../../support/chain.ts'
import { callCli } from '../../support/cli.ts'

const ABI = [
  ...LOCK_TOKENS_ABI,
  ...parseAbi([
    'function redeem(uint256 id, uint256 amount, bytes32 account)',
    'function balanceOf(address account, uint256 id) view returns (uint256)',
    'function balanceOfBatch(address[] accounts, uint256[] ids) view returns (uint256[])',
    'function safeTransferFrom(address from, address to, uint256 id, uint256 value, bytes data)',
    'function endsAt(uint256 id) view returns (uint256)',
    'function hasEnded(uint256 id) view returns (bool)',
    'error NotMinter(address caller)',
    'error AlreadyMinted(bytes32 withdrawal)',
    'error WrongEnd(uint256 id, uint256 endsAt)',
    'error Ended(uint256 id)',
    'error NoAmount()',
    'error ERC1155MissingApprovalForAll(address operator, address owner)',
    'error ERC1155InsufficientBalance(address sender, uint256 balance, uint256 needed, uint256 tokenId)',
    'error ERC1155InvalidReceiver(address receiver)',
  ]),
] as const
const SERIES = 'lock_01M84K0Q6T1G6V5R2Z7C9N3XJD'
const ID = numberOfId(SERIES)
const [DEPLOYER, ALICE, BOB] = [devAccount(4), devAccount(5), devAccount(6)]

let chain: TestChain
let address: Address
let end: bigint
let withdrawals = 0
before(async () => {
  chain = await startChain()
  address = await provideContract(chain.client, lockTokensInitCode(chain.treasury.address))
  end = (await chain.client.getBlock()).timestamp + 1_000_000n
})
after(() => chain.stop())

type Account = ReturnType<typeof devAccount>

async function call(functionName: string, args: readonly unknown[], account: Account): Promise<void> {
  const request = { abi: ABI, address, functionName, args, account } as Parameters<
    typeof chain.client.simulateContract
  >[0]
  await chain.client.simulateContract(request)
  const hash = await chain.client.writeContract(request as Parameters<typeof chain.client.writeContract>[0])
  assert.equal((await chain.client.waitForTransactionReceipt({ hash })).status, 'success')
}

const newWithdrawal = () => toHex(++withdrawals, { size: 32 })
const mint = (to: Address, amount: bigint, withdrawal = newWithdrawal(), by = chain.treasury, ends = end) =>
  call('mint', [to, ID, amount, ends, withdrawal], by)
const transfer = (from: Account, to: Address, amount: bigint, by = from) =>
  call('safeTransferFrom', [from.address, to, ID, amount, '0x'], by)
const redeem = (by: Account, amount: bigint) => call('redeem', [ID, amount, zeroHash], by)
const balanceOf = (account: Account) =>
  chain.client.readContract({ abi: ABI, address, functionName: 'balanceOf', args: [account.address, ID] })
const supply = () => chain.client.readContract({ abi: ABI, address, functionName: 'totalSupply', args: [ID] })

/** The error of the contract, by its name. */
async function revertOf(work: Promise<unknown>): Promise<string> {
  const error = await work.then(
    () => 'nothing',
    (thrown: unknown) => thrown,
  )
  const revert =
    error instanceof BaseError ? error.walk((cause) => cause instanceof ContractFunctionRevertedError) : null
  return revert instanceof ContractFunctionRevertedError ? (revert.data?.errorName ?? 'unknown') : String(error)
}

test('the id of a token is that of its series', () => {
  assert.equal(seriesOfToken(ID), SERIES)
  assert.equal(seriesOfToken(numberOfId('lock_ZZZZZZZZZZZZZZZZZZZZZZZZZZ') + 1n), `token_4${'0'.repeat(32)}`)
})

test('a withdrawal is minted once, by the minter, with the end that the first one has set', async () => {
  const first = newWithdrawal()
  await mint(ALICE.address, 5n, first)
  assert.equal(await revertOf(mint(BOB.address, 5n, first)), 'AlreadyMinted')
  assert.equal(await revertOf(mint(ALICE.address, 5n, newWithdrawal(), ALICE)), 'NotMinter')
  assert.equal(await revertOf(mint(ALICE.address, 5n, newWithdrawal(), chain.treasury, end + 1n)), 'WrongEnd')
  assert.equal(await revertOf(mint(ALICE.address, 0n)), 'NoAmount')
  // A contract that takes no tokens of this kind.
  assert.equal(await revertOf(mint(chain.contracts.coin, 5n)), 'ERC1155InvalidReceiver')
  assert.deepEqual([await balanceOf(ALICE), await supply()], [5n, 5n])
})

test('holders alone move and redeem their tokens', async () => {
  await transfer(ALICE, BOB.address, 2n)
  for (const other of [chain.treasury, DEPLOYER, BOB]) {
    assert.equal(await revertOf(transfer(ALICE, BOB.address, 1n, other)), 'ERC1155MissingApprovalForAll')
  }
  assert.equal(await revertOf(redeem(BOB, 3n)), 'ERC1155InsufficientBalance')
  assert.equal(await revertOf(redeem(BOB, 0n)), 'NoAmount')
  await redeem(BOB, 1n)
  assert.deepEqual([await balanceOf(ALICE), await balanceOf(BOB), await supply()], [3n, 1n, 4n])
})

test('the command line deploys the contract for the treasury', async () => {
  const env = { CHAIN_RPC_URL: chain.rpcUrl, SLUICE_DEPLOYER_KEY: devPrivateKey(4), DATABASE_URL: '', REDIS_URL: '' }
  const { code, json, stderr } = await callCli(['chain', 'deploy-locks', chain.treasury.address, '--json'], env)
  assert.equal(code, 0, stderr)
  const deployed = (json as Record<string, Address>)['address'] as Address
  const minter = await chain.client.readContract({ abi: ABI, address: deployed, functionName: 'minter' })
  assert.equal(minter, chain.treasury.address)
})

test('after the end balances and supply are zero, and nothing is minted, moved or redeemed', async () => {
  await chain.client.setNextBlockTimestamp({ timestamp: end })
  await chain.client.mine({ blocks: 1 })
  const batch = { functionName: 'balanceOfBatch', args: [[ALICE.address], [ID]] } as const
  assert.deepEqual(await chain.client.readContract({ abi: ABI, address, ...batch }), [0n])
  assert.deepEqual([await balanceOf(ALICE), await supply()], [0n, 0n])
  assert.equal(await revertOf(transfer(ALICE, BOB.address, 1n)), 'Ended')
  assert.equal(await revertOf(redeem(ALICE, 1n)), 'Ended')
  assert.equal(await revertOf(mint(ALICE.address, 1n)), 'Ended')
})
