// Goal: nobody can rewrite a settlement batch, leave one out or take one back, whoever has which role in the contract.
// Method: the compiled contract on a real EVM node, called as control calls it and as it never would.
import assert from 'node:assert/strict'
import test, { after, before } from 'node:test'
import { type Address, BaseError, ContractFunctionRevertedError, keccak256, parseAbi, toHex, zeroHash } from 'viem'
import { deployBy } from '../../../control/chain/deploy/deployBy.ts'
import { anchorInitCode } from '../../../control/chain/deploy/initCodes.ts'
import { devAccount, devPrivateKey } from '../../../control/launch/chain/deploy.ts'
import { ANCHOR_ABI, type AnchoredBatch } from '../../../control/products/settlements/anchorContract.ts'
import { startChain, type TestChain } from '../../support/chain.ts'
import { callCli } from '../../support/cli.ts'

const ROLES_ABI = parseAbi([
  'function grantRole(bytes32 role, address account)',
  'function revokeRole(bytes32 role, address account)',
  'error AccessControlUnauthorizedAccount(address account, bytes32 role)',
  'error WrongNumber(uint256 number, uint256 lastNumber)',
  'error NotGrown(uint64 treeSize, uint64 lastTreeSize)',
  'error WrongReceipts(uint64 receiptsFrom, uint64 receiptsTo, uint64 lastReceiptsTo)',
  'error UnknownBatch(uint256 number)',
])
const ABI = [...ANCHOR_ABI, ...ROLES_ABI] as const
const ANCHORER_ROLE = keccak256(toHex('ANCHORER_ROLE'))
const [DEPLOYER, ANCHORER, ADMIN, STRANGER] = [devAccount(4), devAccount(5), devAccount(6), devAccount(7)]
const ROOT = `0x${'ab'.repeat(32)}` as const

let chain: TestChain
before(async () => {
  chain = await startChain()
})
after(() => chain.stop())

const batchOf = (changes: Partial<AnchoredBatch> = {}): AnchoredBatch => ({
  treeSize: 10n,
  receiptsFrom: 0n,
  receiptsTo: 5n,
  root: ROOT,
  statement: `0x${'cd'.repeat(32)}`,
  chargedUnits: 7n,
  heldUnits: 2n ** 128n - 1n,
  owedUnits: 8n,
  ...changes,
})

async function deploy(): Promise<Address> {
  const roles = { admin: ADMIN.address, anchorer: ANCHORER.address }
  const { address, chainId } = await deployBy(chain.rpcUrl, DEPLOYER, anchorInitCode(roles), 20)
  assert.equal(chainId, chain.chainId)
  return address
}

async function anchor(address: Address, number: bigint, content: AnchoredBatch, account = ANCHORER): Promise<void> {
  const call = { abi: ABI, address, functionName: 'anchor', args: [number, content], account } as const
  await chain.client.simulateContract(call)
  const hash = await chain.client.writeContract(call)
  assert.equal((await chain.client.waitForTransactionReceipt({ hash })).status, 'success')
}

const read = (address: Address, number: bigint) =>
  chain.client.readContract({ abi: ABI, address, functionName: 'batch', args: [number] })

/** The error of the contract, by its name. */
async function revertOf(work: Promise<unknown>): Promise<string> {
  const error = await work.then(
    () => undefined,
    (thrown: unknown) => thrown,
  )
  const revert =
    error instanceof BaseError ? error.walk((cause) => cause instanceof ContractFunctionRevertedError) : null
  return revert instanceof ContractFunctionRevertedError ? (revert.data?.errorName ?? 'unknown') : String(error)
}

test('batches are read as they were anchored, with their time, and each emits an event', async () => {
  const address = await deploy()
  const [first, second] = [batchOf(), batchOf({ treeSize: 11n, receiptsFrom: 5n, receiptsTo: 6n, root: zeroHash })]
  await anchor(address, 1n, first)
  await anchor(address, 2n, second)
  const { timestamp } = await chain.client.getBlock()
  assert.deepEqual((await read(address, 1n))[0], first)
  assert.deepEqual(await read(address, 2n), [second, timestamp])
  assert.equal(await chain.client.readContract({ abi: ABI, address, functionName: 'lastNumber' }), 2n)
  const events = await chain.client.getContractEvents({ abi: ABI, address, eventName: 'Anchored', fromBlock: 0n })
  assert.deepEqual(
    events.map(({ args }) => args),
    [
      { number: 1n, ...first },
      { number: 2n, ...second },
    ],
  )
  assert.equal(await revertOf(read(address, 3n)), 'UnknownBatch')
})

test('batch numbers are consecutive and used once; the first may be any but zero', async () => {
  const address = await deploy()
  assert.equal(await revertOf(anchor(address, 0n, batchOf())), 'WrongNumber')
  await anchor(address, 41n, batchOf())
  for (const number of [0n, 1n, 40n, 41n, 43n, 2n ** 256n - 1n]) {
    assert.equal(await revertOf(anchor(address, number, batchOf({ treeSize: 11n, receiptsFrom: 5n }))), 'WrongNumber')
  }
  await anchor(address, 42n, batchOf({ treeSize: 11n, receiptsFrom: 5n }))
  assert.deepEqual((await read(address, 41n))[0], batchOf())
})

test('a batch has more heads than the one before, and shares no receipt with it', async () => {
  const address = await deploy()
  assert.equal(await revertOf(anchor(address, 1n, batchOf({ treeSize: 0n }))), 'NotGrown')
  assert.equal(await revertOf(anchor(address, 1n, batchOf({ receiptsFrom: 6n }))), 'WrongReceipts')
  await anchor(address, 1n, batchOf())
  for (const treeSize of [0n, 9n, 10n]) {
    assert.equal(await revertOf(anchor(address, 2n, batchOf({ treeSize, receiptsFrom: 5n }))), 'NotGrown')
  }
  assert.equal(await revertOf(anchor(address, 2n, batchOf({ treeSize: 11n, receiptsFrom: 4n }))), 'WrongReceipts')
  // Receipts may be left out, and there may be none.
  await anchor(address, 2n, batchOf({ treeSize: 11n, receiptsFrom: 9n, receiptsTo: 9n }))
})

test('only an anchorer anchors; the admin names others and can change no batch', async () => {
  const address = await deploy()
  for (const account of [STRANGER, DEPLOYER, ADMIN]) {
    assert.equal(await revertOf(anchor(address, 1n, batchOf(), account)), 'AccessControlUnauthorizedAccount')
  }
  const change = async (functionName: 'grantRole' | 'revokeRole', who: Address, account = ADMIN) => {
    const call = { abi: ABI, address, functionName, args: [ANCHORER_ROLE, who], account } as const
    await chain.client.simulateContract(call)
    await chain.client.waitForTransactionReceipt({ hash: await chain.client.writeContract(call) })
  }
  assert.equal(await revertOf(change('grantRole', STRANGER.address, ANCHORER)), 'AccessControlUnauthorizedAccount')
  await anchor(address, 1n, batchOf())
  await change('grantRole', STRANGER.address)
  await change('revokeRole', ANCHORER.address)
  assert.equal(
    await revertOf(anchor(address, 2n, batchOf({ treeSize: 11n, receiptsFrom: 5n }))),
    'AccessControlUnauthorizedAccount',
  )
  assert.equal(await revertOf(anchor(address, 1n, batchOf({ treeSize: 11n }), STRANGER)), 'WrongNumber')
  await anchor(address, 2n, batchOf({ treeSize: 11n, receiptsFrom: 5n }), STRANGER)
  assert.deepEqual((await read(address, 1n))[0], batchOf())
})

test('the command line deploys the contract from another wallet than the one that sends the batches', async () => {
  const env = { CHAIN_RPC_URL: chain.rpcUrl, SLUICE_DEPLOYER_KEY: devPrivateKey(4), DATABASE_URL: '', REDIS_URL: '' }
  const command = ['chain', 'deploy-anchor', ANCHORER.address, '--admin', ADMIN.address]
  const { code, json, stderr } = await callCli([...command, '--json'], env)
  assert.equal(code, 0, stderr)
  const { address, transaction, chain_id, admin, anchorer } = json as Record<string, string>
  assert.deepEqual([chain_id, admin, anchorer], [chain.chainId, ADMIN.address, ANCHORER.address])
  const receipt = await chain.client.getTransactionReceipt({ hash: transaction as Address })
  assert.equal(receipt.from, DEPLOYER.address.toLowerCase())
  await anchor(address as Address, 1n, batchOf())
  const { stdout } = await callCli(command, env)
  assert.match(stdout, /\nsettlement_anchor: "0x[0-9a-fA-F]{40}"\n$/)
  for (const [changes, args, says] of [
    [{ SLUICE_DEPLOYER_KEY: devPrivateKey(5) }, command, /the sender must be another wallet/],
    [{ SLUICE_DEPLOYER_KEY: '' }, command, /set SLUICE_DEPLOYER_KEY/],
    [{ CHAIN_RPC_URL: '', SLUICE_DATA: '/nowhere' }, command, /set CHAIN_RPC_URL/],
    [{ CHAIN_RPC_URL: 'http://127.0.0.1:1' }, command, /nothing was deployed/],
    [{}, ['chain', 'deploy-anchor', '0x12'], /a wallet is 0x and 40 hex digits/],
  ] as const) {
    const failed = await callCli(args, { ...env, ...changes })
    assert.ok(failed.code !== 0 && says.test(failed.stderr), failed.stderr)
    assert.ok(!failed.stderr.includes(devPrivateKey(4).slice(2)))
  }
})
