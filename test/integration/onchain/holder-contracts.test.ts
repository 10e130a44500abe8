// Goal: nobody gets more out of the vault than their shares are worth, revenue cannot be caught by a deposit right before it,
// and every reward is claimed once, by its account, while the distributor always has the coin for the rest.
// Method: the compiled contracts on a real EVM node, under random deposits, withdrawals and revenue, and under what they refuse.
import assert from 'node:assert/strict'
import test, { after, before } from 'node:test'
import fc from 'fast-check'
import {
  type Abi,
  type Address,
  BaseError,
  ContractFunctionRevertedError,
  erc20Abi,
  erc4626Abi,
  type Hex,
  parseAbi,
  zeroHash,
} from 'viem'
import { deployBy } from '../../../control/chain/deploy/deployBy.ts'
import { distributorInitCode, vaultInitCode } from '../../../control/chain/deploy/initCodes.ts'
import { DEMO_TOKEN_ABI, devAccount, devPrivateKey } from '../../../control/launch/chain/deploy.ts'
import { DISTRIBUTOR_ABI } from '../../../control/products/holders/rewards/distributorContract.ts'
import { proofPlaces, type RewardLeaf, rewardTree } from '../../../control/products/holders/rewards/rewardTree.ts'
import { VAULT_ABI } from '../../../control/products/holders/vault/vaultContract.ts'
import { startChain, type TestChain } from '../../support/chain.ts'
import { callCli } from '../../support/cli.ts'
import { rounds } from '../../support/rounds.ts'

const ERRORS = parseAbi([
  'error AccessControlUnauthorizedAccount(address account, bytes32 role)',
  'error WrongNumber(uint256 number, uint256 lastNumber)',
  'error Underfunded(uint256 balance, uint256 needed)',
  'error AlreadyClaimed(uint256 number, address account)',
  'error WrongProof(uint256 number, address account, uint256 amount)',
  'error UnknownPeriod(uint256 number)',
  'error NoRevenue()',
  'error NoShares()',
])
const VAULT = [...VAULT_ABI, ...erc4626Abi, ...ERRORS] as const
const REWARDS = [...DISTRIBUTOR_ABI, ...ERRORS] as const
const COIN = 10n ** 18n
const VEST_SECONDS = 1_000
const [DEPLOYER, PUBLISHER, ...HOLDERS] = [4, 5, 6, 7, 8].map(devAccount) as [Account, Account, ...Account[]]
const [ALICE, BOB, MALLORY] = HOLDERS as [Account, Account, Account]

type Account = ReturnType<typeof devAccount>

let chain: TestChain
before(async () => {
  chain = await startChain()
  await chain.client.setBlockTimestampInterval({ interval: 1 }) // Revenue vests by blocks' time, not by the machine's.
  for (const { address } of [DEPLOYER, ...HOLDERS]) await chain.mint('coin', address, 1_000_000n * COIN)
})
after(() => chain.stop())

interface Call {
  readonly address: Address
  readonly abi: Abi
  readonly functionName: string
  readonly args: readonly unknown[]
  readonly account: Account
}

/** Calls a contract and waits; refusals are those of the simulation. */
async function write(call: Call): Promise<void> {
  await chain.client.simulateContract(call)
  const hash = await chain.client.writeContract(call)
  assert.equal((await chain.client.waitForTransactionReceipt({ hash })).status, 'success')
}

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

const coinOf = (address: Address) => chain.balanceOf('coin', address)
const send = (account: Account, to: Address, value: bigint) =>
  write({ address: chain.contracts.coin, abi: DEMO_TOKEN_ABI, functionName: 'transfer', args: [to, value], account })

async function newVault(): Promise<Address> {
  const code = vaultInitCode({ coin: chain.contracts.coin, name: 'Vault', symbol: 'V', vestSeconds: VEST_SECONDS })
  const { address } = await deployBy(chain.rpcUrl, DEPLOYER, code, 20)
  for (const account of HOLDERS) {
    const call = { address: chain.contracts.coin, abi: DEMO_TOKEN_ABI, functionName: 'approve' } as const
    await write({ ...call, args: [address, 2n ** 256n - 1n], account })
  }
  return address
}

const readVault = <Name extends 'totalAssets' | 'totalSupply' | 'pendingRevenue' | 'unvested'>(
  address: Address,
  functionName: Name,
) => chain.client.readContract({ address, abi: VAULT_ABI, functionName })
const sharesOf = (address: Address, { address: of }: Account) =>
  chain.client.readContract({ address, abi: erc20Abi, functionName: 'balanceOf', args: [of] })
const deposit = (address: Address, account: Account, assets: bigint) =>
  write({ address, abi: VAULT, functionName: 'deposit', args: [assets, account.address], account })
const redeem = (address: Address, account: Account, shares: bigint) =>
  write({ address, abi: VAULT, functionName: 'redeem', args: [shares, account.address, account.address], account })
const vest = (address: Address, account: Account = MALLORY) =>
  write({ address, abi: VAULT, functionName: 'vestRevenue', args: [], account })

async function pass(seconds: number): Promise<void> {
  await chain.client.setNextBlockTimestamp({ timestamp: (await chain.client.getBlock()).timestamp + BigInt(seconds) })
  await chain.client.mine({ blocks: 1 })
}

test('revenue vests over time, so a deposit right before it gains no revenue', async () => {
  const vault = await newVault()
  await deposit(vault, ALICE, 100n * COIN)
  await deposit(vault, MALLORY, 900n * COIN)
  await send(DEPLOYER, vault, 50n * COIN)
  assert.equal(await readVault(vault, 'totalAssets'), 1_000n * COIN)
  assert.equal(await revertOf(vest(await newVault())), 'NoRevenue')
  await vest(vault)
  const before = await coinOf(MALLORY.address)
  await redeem(vault, MALLORY, await sharesOf(vault, MALLORY))
  const gained = (await coinOf(MALLORY.address)) - before - 900n * COIN
  // A few seconds of 50 coin over 1,000 seconds, of which nine tenths are hers.
  assert.ok(gained >= 0n && gained < COIN / 2n, `${gained}`)
  await pass(VEST_SECONDS / 2)
  // Tiny revenue in every block does not delay what vests.
  for (let block = 0; block < 5; block++) {
    await send(DEPLOYER, vault, 1n)
    await vest(vault)
  }
  await pass(VEST_SECONDS / 2)
  assert.equal(await readVault(vault, 'unvested'), 0n)
  const kept = await coinOf(ALICE.address)
  await redeem(vault, ALICE, await sharesOf(vault, ALICE))
  const earned = (await coinOf(ALICE.address)) - kept - 100n * COIN
  assert.ok(earned > 49n * COIN && earned <= 50n * COIN + 5n, `${earned}`)
  // Revenue that vests when the last holder leaves waits for the next one.
  await deposit(vault, ALICE, 100n * COIN)
  await send(DEPLOYER, vault, 50n * COIN)
  await vest(vault)
  await redeem(vault, ALICE, await sharesOf(vault, ALICE))
  const left = await readVault(vault, 'pendingRevenue')
  assert.ok(left > 49n * COIN && left === (await coinOf(vault)), `${left}`)
})

test('the first depositor cannot capture the deposit of the second one with a donation', async () => {
  const vault = await newVault()
  await deposit(vault, MALLORY, 1n)
  await send(MALLORY, vault, 1_000n * COIN)
  await vest(vault)
  await pass(VEST_SECONDS)
  await deposit(vault, BOB, 10n * COIN)
  const before = await coinOf(BOB.address)
  await redeem(vault, BOB, await sharesOf(vault, BOB))
  const lost = 10n * COIN - ((await coinOf(BOB.address)) - before)
  assert.ok(lost <= COIN / 1_000n, `lost ${lost}`)
  const spent = await coinOf(MALLORY.address)
  await redeem(vault, MALLORY, await sharesOf(vault, MALLORY))
  assert.ok((await coinOf(MALLORY.address)) - spent < 501n * COIN, 'what was donated is lost in half')
})

test('for any deposits, redemptions and revenue, the vault covers the value of its shares and no holder gains', async () => {
  const anyStep = fc.record({
    who: fc.integer({ min: 0, max: 2 }),
    what: fc.constantFrom('deposit', 'redeem', 'revenue', 'vest', 'time'),
    amount: fc.bigInt(1n, 1_000n * COIN),
  })
  await fc.assert(
    fc.asyncProperty(fc.array(anyStep, { minLength: 5, maxLength: 15 }), async (steps) => {
      const vault = await newVault()
      let [paidIn, paidOut, revenue] = [0n, 0n, 0n]
      for (const { who, what, amount } of steps) {
        const account = HOLDERS[who] ?? ALICE
        const had = await coinOf(account.address)
        if (what === 'deposit') await deposit(vault, account, amount).catch(() => {})
        if (what === 'redeem') await redeem(vault, account, (await sharesOf(vault, account)) / 2n)
        if (what === 'vest') await vest(vault, account).catch(() => {})
        if (what === 'time') await pass(Number(amount % 700n) + 1)
        const [left, got] = await balanceChange(had, account)
        paidIn += left
        paidOut += got
        if (what === 'revenue') {
          await send(DEPLOYER, vault, amount)
          revenue += amount
        }
        const [balance, assets, unvested, pending] = await stateOf(vault)
        assert.equal(balance, paidIn + revenue - paidOut)
        assert.equal(balance, assets + unvested + pending)
        assert.ok(paidOut <= paidIn + revenue)
      }
      for (const account of HOLDERS) await redeem(vault, account, await sharesOf(vault, account))
      assert.equal(await readVault(vault, 'totalSupply'), 0n)
      assert.equal(await readVault(vault, 'pendingRevenue'), await coinOf(vault))
    }),
    { numRuns: rounds({ short: 3, long: 40 }) },
  )
})

async function balanceChange(had: bigint, { address }: Account): Promise<[bigint, bigint]> {
  const has = await coinOf(address)
  return has < had ? [had - has, 0n] : [0n, has - had]
}

/** Read at one block, as what vests changes with time. */
async function stateOf(address: Address): Promise<[bigint, bigint, bigint, bigint]> {
  const { number: blockNumber } = await chain.client.getBlock()
  const at = { address, abi: VAULT_ABI, blockNumber } as const
  const coin = {
    address: chain.contracts.coin,
    abi: DEMO_TOKEN_ABI,
    functionName: 'balanceOf',
    args: [address],
  } as const
  return Promise.all([
    chain.client.readContract({ ...coin, blockNumber }),
    chain.client.readContract({ ...at, functionName: 'totalAssets' }),
    chain.client.readContract({ ...at, functionName: 'unvested' }),
    chain.client.readContract({ ...at, functionName: 'pendingRevenue' }),
  ])
}

async function newDistributor(): Promise<Address> {
  const roles = { coin: chain.contracts.coin, admin: DEPLOYER.address, publisher: PUBLISHER.address }
  return (await deployBy(chain.rpcUrl, DEPLOYER, distributorInitCode(roles), 20)).address
}

const publish = (address: Address, number: bigint, root: Hex, total: bigint, account = PUBLISHER) =>
  write({ address, abi: REWARDS, functionName: 'publish', args: [number, root, total], account })
const claim = (address: Address, number: bigint, { account: to, amount }: RewardLeaf, proof: readonly Hex[]) =>
  write({ address, abi: REWARDS, functionName: 'claim', args: [number, to, amount, proof], account: MALLORY })

async function treeOf(leaves: readonly RewardLeaf[]) {
  const { nodes, places } = await rewardTree(leaves, 100)
  const proofOf = ({ account }: RewardLeaf) =>
    proofPlaces(places.get(account) ?? -1).map((place) => nodes[place] ?? zeroHash)
  return { root: nodes[0] ?? zeroHash, proofOf, total: leaves.reduce((sum, { amount }) => sum + amount, 0n) }
}

test('a reward is claimed once, only by its account, and the coin of other holders stays', async () => {
  const address = await newDistributor()
  const leaves = [ALICE, BOB, DEPLOYER].map((account, at) => ({
    account: account.address,
    amount: BigInt(at + 1) * COIN,
  }))
  const [mine, other] = leaves as [RewardLeaf, RewardLeaf]
  const { root, proofOf, total } = await treeOf(leaves)
  assert.equal(await revertOf(publish(address, 1n, root, total)), 'Underfunded')
  await send(DEPLOYER, address, total)
  assert.equal(await revertOf(publish(address, 1n, root, total, MALLORY)), 'AccessControlUnauthorizedAccount')
  assert.equal(await revertOf(publish(address, 0n, root, total)), 'WrongNumber')
  await publish(address, 1n, root, total)
  assert.equal(await revertOf(publish(address, 1n, root, 0n)), 'WrongNumber')
  assert.equal(await revertOf(publish(address, 2n, root, 1n)), 'Underfunded')
  const before = await coinOf(mine.account)
  await claim(address, 1n, mine, proofOf(mine))
  assert.equal((await coinOf(mine.account)) - before, mine.amount)
  assert.equal(await revertOf(claim(address, 1n, mine, proofOf(mine))), 'AlreadyClaimed')
  for (const [leaf, proof] of [
    [other, proofOf(mine)],
    [{ ...other, amount: other.amount + 1n }, proofOf(other)],
    [{ ...other, account: MALLORY.address }, proofOf(other)],
    [{ account: MALLORY.address, amount: total }, []],
  ] as const) {
    assert.equal(await revertOf(claim(address, 1n, leaf, proof)), 'WrongProof')
  }
  assert.equal(await revertOf(claim(address, 2n, other, proofOf(other))), 'UnknownPeriod')
  for (const leaf of leaves.slice(1)) await claim(address, 1n, leaf, proofOf(leaf))
  assert.equal(await coinOf(address), 0n)
})

test('a root whose leaves sum to more than its total takes no tokens of another period', async () => {
  const address = await newDistributor()
  const fair = [{ account: ALICE.address, amount: 5n * COIN }]
  const false_ = [
    { account: MALLORY.address, amount: 5n * COIN },
    { account: BOB.address, amount: COIN },
  ] as const
  const [fairTree, falseTree] = [await treeOf(fair), await treeOf(false_)]
  await send(DEPLOYER, address, 6n * COIN)
  await publish(address, 1n, fairTree.root, 5n * COIN)
  await publish(address, 2n, falseTree.root, COIN)
  assert.equal(await revertOf(claim(address, 2n, false_[0], falseTree.proofOf(false_[0]))), 'WrongProof')
  await claim(address, 2n, false_[1], falseTree.proofOf(false_[1]))
  for (const leaf of fair) await claim(address, 1n, leaf, fairTree.proofOf(leaf))
  assert.equal(await coinOf(address), 0n)
})

test('the command line deploys both contracts and prints the settings for the payments file', async () => {
  const env = { CHAIN_RPC_URL: chain.rpcUrl, SLUICE_DEPLOYER_KEY: devPrivateKey(4), DATABASE_URL: '', REDIS_URL: '' }
  const { coin } = chain.contracts
  const vault = await callCli(['chain', 'deploy-vault', coin, '--vest-seconds', '60', '--symbol', 'vC'], env)
  assert.match(vault.stdout, /\nscoin_vault: "0x[0-9a-fA-F]{40}"\n$/, vault.stderr)
  const rewards = await callCli(['chain', 'deploy-rewards', coin, PUBLISHER.address, '--json'], env)
  const { address, publisher } = rewards.json as Record<string, string>
  assert.equal(publisher, PUBLISHER.address, rewards.stderr)
  assert.equal(await revertOf(publish(address as Address, 1n, zeroHash, 1n)), 'Underfunded')
  const wrong = await callCli(['chain', 'deploy-vault', coin, '--vest-seconds', '0'], env)
  assert.match(wrong.stderr, /--vest-seconds is a whole number/)
})
