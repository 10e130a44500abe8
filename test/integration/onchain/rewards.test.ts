// Goal: what requests are charged becomes rewards of holders and revenue of the vault, to the last unit, is on the chain, and
// anybody can compute its roots anew. Method: the whole stack over a real chain, its public answers, and the command line.
import assert from 'node:assert/strict'
import test from 'node:test'
import { type Address, type Hex, parseEther } from 'viem'
import { distributorInitCode, vaultInitCode } from '../../../control/chain/deploy/initCodes.ts'
import { devAccount, provideContract } from '../../../control/launch/chain/deploy.ts'
import { DISTRIBUTOR_ABI } from '../../../control/products/holders/rewards/distributorContract.ts'
import type { TestChain } from '../../support/chain.ts'
import { callCli } from '../../support/cli.ts'
import { api } from '../../support/clients/apiClient.ts'
import { chat } from '../../support/clients/chatClient.ts'
import { startPaidStack } from '../../support/paidStack.ts'
import { until } from '../../support/stack.ts'

const COIN = parseEther('1')

interface Period {
  readonly number: number
  readonly state: string
  readonly net_revenue: { readonly units: string }
  readonly reward: { readonly units: string; readonly coin: string }
  readonly root: Hex | null
}

interface Terms {
  readonly current: unknown
  readonly data: readonly Period[]
  readonly has_more: boolean
}

interface Holder {
  readonly address: string
  readonly rewards: ReadonlyArray<{
    readonly number: number
    readonly token_amount: string
    readonly proof: Hex[]
    readonly distributor: Address
  }>
}

test('charges become claimed rewards and revenue of the vault; the roots can be recomputed', async (t) => {
  const paid = await startPaidStack({
    limits: { revenueCheckMs: 100, revenueCloseDelayMs: 1_500, signInRequestBurst: 1_000 },
    payments: paymentsOn,
  })
  t.after(() => paid.stop())
  const { stack, chain, pool } = paid
  await chain.fillTreasury()
  const [alice, bob] = [await chain.newPayer({ coin: 3n * COIN }), await chain.newPayer({ coin: COIN })]
  const account = await stack.createAccount({ coin: '10' })
  const granted = await stack.createAccount({ credits: '10' })
  await stack.cli('wallet', 'link', account.accountId, alice.address)
  const get = async <T>(path: string, token = ''): Promise<T> => {
    const { status, text } = await api(stack.baseUrl, 'GET', path, { token })
    assert.equal(status, 200, `${path}: ${text}`)
    return JSON.parse(text) as T
  }
  await until('revenue counts', async () => (await get<Terms>('/v1/holders/rewards')).current !== null)
  let charged = 0
  for (let i = 0; i < 5; i++) {
    for (const { apiKey } of [account, granted]) {
      const { status } = await chat(stack.baseUrl, apiKey, { model: 'test/small' })
      assert.equal(status, 200)
    }
    // A transfer to and fro moves nothing that lasts.
    await chain.transfer('coin', i % 2 === 0 ? alice : bob, i % 2 === 0 ? bob.address : alice.address, COIN / 2n)
  }
  await stack.settled()
  const sums = 'SELECT sum(net_units) AS net, sum(reward_units) AS rewards FROM revenue_periods WHERE number > 0'
  await until('all revenue is shared out', async () => {
    await chain.client.mine({ blocks: 1 })
    // What free credits are charged is no revenue that is shared, or they would become coin.
    const paidCharges = 'SELECT sum(charge_units) AS units FROM receipts WHERE account_id = $1'
    charged = Number((await pool.query(paidCharges, [account.accountId])).rows[0]?.units)
    return charged > 0 && (await pool.query(sums)).rows[0]?.net === charged
  })
  assert.equal((await pool.query(sums)).rows[0]?.rewards, Math.floor(charged / 2))
  // A period ends each second, so that on a slow machine those with rewards lie on a later page.
  const paidPeriods = async (): Promise<Period[]> => {
    const periods: Period[] = []
    for (;;) {
      const after = periods.length === 0 ? '' : `&after=${periods.at(-1)?.number}`
      const { data, has_more } = await get<Terms>(`/v1/holders/rewards?limit=100${after}`)
      periods.push(...data)
      if (!has_more) return periods.filter(({ root }) => root !== null)
    }
  }
  await until('all roots are published', async () => {
    await chain.client.mine({ blocks: 1 })
    const periods = await paidPeriods()
    return periods.length > 0 && periods.every(({ state }) => state === 'published')
  })
  const [last] = await paidPeriods()
  assert.ok(last !== undefined)
  const env = { CHAIN_RPC_URL: chain.rpcUrl, DATABASE_URL: '', REDIS_URL: '' }
  const { code, json, stderr } = await callCli(
    ['rewards', 'recompute', String(last.number), '--url', stack.baseUrl, '--json'],
    env,
  )
  assert.deepEqual([code, (json as Period).root], [0, last.root], stderr + JSON.stringify(json))

  const holder = await get<Holder>(`/v1/holders/rewards/${alice.address}`)
  assert.deepEqual(
    (await get<{ data: Holder[] }>('/v1/holders/rewards/me', account.apiKey)).data[0]?.address,
    holder.address,
  )
  let claimed = 0n
  const had = await chain.balanceOf('coin', alice.address)
  for (const { number, token_amount: amount, proof, distributor } of holder.rewards) {
    const args = [BigInt(number), alice.address, BigInt(amount), proof] as const
    const call = { abi: DISTRIBUTOR_ABI, address: distributor, functionName: 'claim', args, account: bob } as const
    await chain.client.waitForTransactionReceipt({ hash: await chain.client.writeContract(call) })
    claimed += BigInt(amount)
  }
  assert.ok(claimed > 0n)
  assert.equal((await chain.balanceOf('coin', alice.address)) - had, claimed)
  const vault = await get<{ deposits: unknown[]; block: number }>('/v1/scoin')
  assert.ok(vault.deposits.length > 0 && vault.block > 0)
  for (const path of ['/v1/holders/rewards/0x12', '/v1/holders/rewards/alice']) {
    const { status, text } = await api(stack.baseUrl, 'GET', path)
    assert.ok(status === 400 && text.includes('invalid_address'), text)
  }
  await paid.audited()
})

async function paymentsOn(chain: TestChain): Promise<Record<string, unknown>> {
  const { coin } = chain.contracts
  const vault = vaultInitCode({ coin, name: 'Vault', symbol: 'V', vestSeconds: 100 })
  const roles = { coin, admin: devAccount(0).address, publisher: chain.relayer.address }
  return {
    scoin_vault: await provideContract(chain.client, vault),
    vault_share_bps: 1_000,
    reward_distributor: await provideContract(chain.client, distributorInitCode(roles)),
    rewards_min_coin: '0',
    revenue_period_seconds: 1,
  }
}
