// Goal: what the gateway tells of its chain is what the chain has, and a stranger can verify a receipt up to it.
// Method: a whole stack on a real chain that anchors every second, and a client that was written from
// docs/reference/settlements.md alone.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import test, { after, afterEach, before } from 'node:test'
import { fileURLToPath } from 'node:url'
import type { Hex } from 'viem'
import { verify } from '../../verifier/verify.ts'
import { AnchoringStack, type WholeBatch } from '../support/clients/anchoringStack.ts'
import { api } from '../support/clients/apiClient.ts'
import { chat } from '../support/clients/chatClient.ts'
import { deposit, newHolder, signDeposit, untilCredited } from '../support/clients/moneyClient.ts'
import { codeOf, HELLO, payFor, paymentHeader, post, quote } from '../support/clients/paidClient.ts'
import { batchFault, isConsistent, readChainBatch, receiptFault } from '../support/clients/settlementClient.ts'
import { TEST_LOG_VERIFIER } from '../support/logKey.ts'
import type { PaidStack } from '../support/paidStack.ts'
import { until } from '../support/stack.ts'
import { makeTempDir, removeTempDir } from '../support/tempDir.ts'

const VERIFIER = fileURLToPath(new URL('../../verifier/bin.js', import.meta.url))
const dir = makeTempDir('settlements')
let world: AnchoringStack
let paid: PaidStack

before(async () => {
  world = await AnchoringStack.start()
  paid = world.paid
})
afterEach(() => paid.mended())
after(async () => {
  await paid.stop()
  removeTempDir(dir)
})

/** What a node answers of a transaction, as text. */
async function nodeReceipt(transaction: Hex): Promise<string> {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_getTransactionReceipt', params: [transaction] })
  const headers = { 'content-type': 'application/json' }
  return (await fetch(paid.chain.rpcUrl, { method: 'POST', headers, body })).text()
}

test('a client verifies batches and a receipt against the chain, as the documentation describes', async () => {
  await world.anchored()
  const { batch, receipt } = await world.anchored()
  const address = world.contract
  for (const { number } of await world.batches()) {
    const onChain = await readChainBatch(paid.chain.rpcUrl, address, number)
    const whole = await world.get<WholeBatch>(`/v1/settlements/${number}`)
    assert.ok(onChain)
    assert.equal(batchFault(whole, onChain), '')
    assert.ok(Math.abs(onChain.anchoredAt - Date.now() / 1_000) < 600)
  }
  assert.equal(await readChainBatch(paid.chain.rpcUrl, address, 1_000), undefined)
  const onChain = await readChainBatch(paid.chain.rpcUrl, address, batch.number)
  assert.ok(onChain)
  const consistency = async (from: number, to: number) =>
    (await world.get<{ proof: string[] }>(`/v1/log/consistency?from=${from}&to=${to}`)).proof
  assert.equal(await receiptFault(JSON.parse(receipt), onChain, consistency), '')
  const before = await world.get<WholeBatch>(`/v1/settlements/${batch.number - 1}`)
  assert.equal(before.tree_size, batch.tree_size_from)
  const proof = await consistency(before.tree_size, batch.tree_size)
  assert.ok(isConsistent(before.tree_size, batch.tree_size, before.root, batch.root, proof))
  // What is not so is found.
  assert.equal(
    batchFault({ ...batch, statement: batch.statement.replace('"units":"', '"units":"1') }, onChain),
    'another statement',
  )
  const other = { ...onChain, root: 'ab'.repeat(32) }
  assert.notEqual(await receiptFault(JSON.parse(receipt), other, consistency), '')
  assert.equal(await receiptFault(JSON.parse(receipt), { ...onChain, treeSize: 1 }, consistency), 'in a later batch')
})

/** The names of members, and of those in them; of lists what their entries have. */
function shapeOf(value: unknown): unknown {
  if (Array.isArray(value)) return value.length === 0 ? [] : [shapeOf(value[0])]
  if (typeof value !== 'object' || value === null) return ''
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, shapeOf(member)]))
}

test('the documentation shows the exact responses', async () => {
  const header = paymentHeader(await payFor(await quote(paid), await paid.chain.newPayer()))
  assert.equal(codeOf(await post(paid, HELLO, header)), 'paid')
  await paid.audited()
  const { batch } = await world.anchored()
  const text = readFileSync('docs/reference/settlements.md', 'utf8')
  const shown = [...text.matchAll(/```json\n([^`]+)```/g)].map(([, json]) => JSON.parse(json ?? '') as WholeBatch)
  const real = [await world.get('/v1/flows?limit=3&kind=refund'), batch]
  assert.deepEqual(shown.map(shapeOf), real.map(shapeOf))
  const statements = [shown[1], batch].map((one) => JSON.parse(one?.statement ?? '') as unknown)
  assert.deepEqual(shapeOf(statements[0]), shapeOf(statements[1]))
})

test('the verifier checks a receipt against the chain, from a file and over RPC', async () => {
  const { batch, receipt } = await world.anchored()
  const address = world.contract
  const { transaction } = batch
  assert.ok(transaction)
  const settlement = await nodeReceipt(transaction)
  const sheet = JSON.stringify(await world.get('/v1/pricing/sheets/1'))
  const { log } = JSON.parse(receipt) as { log: { head: { tree_size: number; position: number } } }
  const [from, to] = [log.head.tree_size, batch.tree_size].sort((a, b) => a - b)
  const settlementConsistency =
    from === to ? undefined : JSON.stringify(await world.get(`/v1/log/consistency?from=${from}&to=${to}`))
  const evidence = {
    receipt,
    sheet,
    key: TEST_LOG_VERIFIER,
    settlement,
    contract: address,
    statement: JSON.stringify(batch),
    ...(settlementConsistency !== undefined && { settlementConsistency }),
  }
  const report = await verify(evidence)
  assert.ok(report.ok, JSON.stringify(report))
  assert.deepEqual(
    report.steps.slice(-3).map(({ name, result }) => [name, result]),
    [
      ['settlement', 'ok'],
      ['statement', 'ok'],
      ['anchored', 'ok'],
    ],
  )
  const otherRoot = settlement.replaceAll(batch.root, 'ab'.repeat(32))
  const failing: [string, object][] = [
    ['anchored', { settlement: otherRoot, statement: undefined }],
    ['statement', { settlement: otherRoot }],
    ['statement', { statement: JSON.stringify({ statement: batch.statement.replace('"number":', '"number":1') }) }],
    ['settlement', { contract: paid.chain.contracts.coin }],
    ['settlement', { contract: undefined }],
    ['settlement', { settlement: settlement.replace('"status":"0x1"', '"status":"0x0"') }],
    ['settlement', { settlement: '{"jsonrpc":"2.0","id":1,"result":null}' }],
  ]
  for (const [step, change] of failing) {
    const defined = Object.entries({ ...evidence, ...change }).filter(([, value]) => value !== undefined)
    const { ok, steps } = await verify(Object.fromEntries(defined) as unknown as typeof evidence)
    assert.ok(
      !ok && steps.some(({ name, result }) => name === step && result === 'failed'),
      `${step}: ${JSON.stringify(steps)}`,
    )
  }
  const file = (name: string, text: string): string => {
    writeFileSync(join(dir, name), text)
    return join(dir, name)
  }
  const common = [file('receipt.json', receipt), '--sheet', file('sheet.json', sheet), '--key', TEST_LOG_VERIFIER]
  const proof =
    settlementConsistency === undefined ? [] : ['--settlement-consistency', file('proof.json', settlementConsistency)]
  const ways = [
    ['--settlement', file('settlement.json', settlement)],
    ['--rpc', paid.chain.rpcUrl, '--transaction', transaction],
  ]
  for (const way of ways) {
    const args = [
      VERIFIER,
      ...common,
      '--contract',
      address,
      ...way,
      ...proof,
      '--statement',
      file('b.json', JSON.stringify(batch)),
    ]
    const { status, stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' })
    assert.equal(status, 0, stdout + stderr)
    assert.match(stdout, /^anchored +ok /m)
    assert.match(stdout, /\nthe receipt holds\n$/)
  }
  for (const args of [
    ['--contract', address],
    ['--settlement', 'x'],
    ['--rpc', 'http://x', '--contract', address],
  ]) {
    assert.equal(spawnSync(process.execPath, [VERIFIER, ...common, ...args]).status, 2, args.join(' '))
  }
})

test('charges by asset equal those of the receipts, and the reserve equals the chain and the book', async () => {
  const credited = await paid.stack.createAccount({ credits: '1' })
  await chat(paid.stack.baseUrl, credited.apiKey, { model: 'test/small' })
  for (const asset of ['stablecoin', 'coin'] as const) {
    const header = paymentHeader(await payFor(await quote(paid), await paid.chain.newPayer(), asset))
    assert.equal(codeOf(await post(paid, HELLO, header)), 'paid')
  }
  await paid.audited()
  const { batch } = await world.anchored()
  const sums = new Map<string, bigint>()
  for (const { charged } of await world.batches()) {
    for (const { asset, units } of charged.by_asset) sums.set(asset, (sums.get(asset) ?? 0n) + BigInt(units))
  }
  const booked = await paid.pool.query<{ asset: string; units: string }>(
    `SELECT CASE WHEN r.split LIKE 'coin=%' AND r.key_id NOT LIKE 'payer%' THEN 'coin' WHEN r.split LIKE 'grt%' THEN 'credits'
       ELSE p.asset END AS asset, sum(r.charge_units)::text AS units
     FROM receipts r LEFT JOIN payments p ON p.id = r.request_id WHERE r.charge_units > 0 GROUP BY 1`,
  )
  assert.deepEqual([...sums].sort(), booked.rows.map(({ asset, units }) => [asset, BigInt(units)] as const).sort())
  assert.deepEqual([...sums.keys()].sort(), ['coin', 'credits', 'stablecoin'])
  for (const { asset, token_amount } of batch.reserve.held) {
    const address = paid.chain.contracts[asset as 'coin' | 'stablecoin']
    const { treasury } = paid.chain
    const abi = [
      {
        type: 'function',
        name: 'balanceOf',
        stateMutability: 'view',
        inputs: [{ type: 'address' }],
        outputs: [{ type: 'uint256' }],
      },
    ] as const
    const blockNumber = BigInt(batch.reserve.block)
    const args = [treasury.address] as const
    const has = await paid.chain.client.readContract({ abi, address, functionName: 'balanceOf', args, blockNumber })
    assert.equal(token_amount, has.toString())
  }
  const [coin] = batch.reserve.owed
  const owned = await paid.pool.query<{ nanos: string }>(
    `SELECT sum(balance)::text AS nanos FROM ledger_accounts WHERE currency = 'coin'`,
  )
  assert.equal(BigInt(Math.round(Number(coin?.amount) * 1e9)), BigInt(owned.rows[0]?.nanos ?? '0'))
})

test('flows list movements on the chain, newest first, by kind and time, without names', async () => {
  const since = new Date().toISOString()
  const holder = await newHolder(paid)
  const made = await deposit(paid, holder, await signDeposit(paid, holder.wallet, 3_000_000n))
  await untilCredited(paid, holder, made.body.id)
  const sent = await paid.chain.transfer('stablecoin', holder.wallet, paid.chain.treasury.address, 4_000_000n)
  await paid.chain.fillTreasury()
  const header = paymentHeader(await payFor(await quote(paid), await paid.chain.newPayer()))
  assert.equal(codeOf(await post(paid, HELLO, header)), 'paid')
  // Withdrawals pause until the full treasury has been read.
  await until('a withdrawal is taken', async () => {
    const { status } = await api(paid.stack.baseUrl, 'POST', '/v1/account/withdrawals', {
      token: holder.token,
      body: { amount: '4', asset: 'stablecoin' },
    })
    assert.ok([202, 503].includes(status), `${status}`)
    return status === 202
  })
  await paid.audited()
  const all = await world.flows(`from=${since}&`)
  const kinds = all
    .filter(({ kind }) => kind !== 'settlement')
    .map(({ kind, amount, direction }) => [kind, amount, direction])
  for (const expected of [
    ['deposit', '3', 'in'],
    ['deposit', '4', 'in'],
    ['withdrawal', '2', 'out'],
    ['other', '10000', 'in'],
  ]) {
    assert.ok(
      kinds.some((kind) => kind.join() === expected.join()),
      `${expected} in ${JSON.stringify(kinds)}`,
    )
  }
  assert.ok(kinds.some(([kind]) => kind === 'payment') && kinds.some(([kind]) => kind === 'refund'))
  const ids = all.map(({ id }) => id)
  assert.deepEqual(ids, ids.toSorted().toReversed())
  for (const flow of all) {
    const receipt = await paid.chain.client.getTransactionReceipt({ hash: flow.transaction })
    assert.deepEqual([Number(receipt.blockNumber), receipt.status], [flow.block, 'success'])
    assert.ok(flow.confirmations >= 1 && flow.time >= since)
    if (flow.kind !== 'settlement') assert.match(flow.asset?.symbol ?? '', /^(COIN|USDC?)$/)
  }
  assert.ok(all.some(({ transaction }) => transaction === sent))
  for (const kind of ['deposit', 'payment', 'settlement', 'other']) {
    const own = await world.flows(`from=${since}&kind=${kind}&`)
    assert.deepEqual(
      own.map(({ id }) => id),
      all.filter((flow) => flow.kind === kind).map(({ id }) => id),
      kind,
    )
  }
  const middle = all[3]?.time ?? ''
  const below = await world.flows(`from=${since}&to=${middle}&`)
  assert.deepEqual(
    below,
    all.filter(({ time }) => time < middle),
  )
  const text = (await api(paid.stack.baseUrl, 'GET', '/v1/flows?limit=100')).text
  for (const secret of [holder.accountId, holder.wallet.address, 'acct_', 'payer_']) {
    assert.ok(!text.toLowerCase().includes(secret.toLowerCase()), secret)
  }
})
