// Goal: withdrawals are taken only while the chain is known to have what is owed, and go on by themselves. Method: a whole
// stack on a real chain whose treasury is emptied and filled again; the verifier checks what is attested meanwhile.
import assert from 'node:assert/strict'
import test, { after, afterEach, before } from 'node:test'
import { getAddress, type Hex, parseEther } from 'viem'
import { devAccount } from '../../control/launch/chain/deploy.ts'
import { verifyAttestation } from '../../verifier/verify.ts'
import { runCli } from '../support/cli.ts'
import { api, apiOk, assertRefused } from '../support/clients/apiClient.ts'
import { coinOf, type Holder, newHolder, withdraw } from '../support/clients/moneyClient.ts'
import { TEST_LOG_VERIFIER } from '../support/logKey.ts'
import { type PaidStack, startPaidStack } from '../support/paidStack.ts'
import { until } from '../support/stack.ts'

const NOTHING = { coin: 0n, stablecoin: 0n }
const VAULT = devAccount(9).address
let paid: PaidStack
let holder: Holder

before(async () => {
  const rates = { apiRequestsPerMinute: 60_000, apiRequestBurst: 10_000, signInRequestBurst: 1_000 }
  const quick = { reserveCheckMs: 50, reserveReadMs: 100, reserveRecheckMs: 100, reserveReadingMaxMs: 5_000 }
  const limits = { ...rates, ...quick, attestationCheckMs: 50, withdrawalCheckMs: 50 }
  paid = await startPaidStack({ limits, payments: { reserve_vault: VAULT } })
  holder = await newHolder(paid, '20', NOTHING)
})
afterEach(() => paid.mended())
after(() => paid.stop())

interface Reserve {
  readonly covered: boolean | null
  readonly withdrawals: string
  readonly ratio: string | null
  readonly held_usd: string
  readonly owed_usd: string
  readonly block: number
  readonly block_hash: Hex
  readonly held: ReadonlyArray<{ holder: string; asset: string; token: string; token_amount: string; usd: string }>
  readonly token: { readonly address: string }
  readonly vault: string
}
const stackUrl = () => paid.stack.baseUrl
const read = <T>(path: string) => apiOk<T & Record<string, unknown>>(stackUrl(), 'GET', path)
const untilWithdrawals = (state: string) =>
  until(`withdrawals are ${state}`, async () => (await read<Reserve>('/v1/reserve')).withdrawals === state)

async function untilHealth(withdrawals: string): Promise<void> {
  await until(`health says ${withdrawals}`, async () => {
    return (await read<{ withdrawals: string }>('/health')).withdrawals === withdrawals
  })
}

test('while the reserve is short, a withdrawal is rejected without a debit; once it covers, withdrawals continue', async () => {
  await untilWithdrawals('short')
  const before = await coinOf(paid, holder)
  assertRefused(await withdraw(paid, holder, { amount: '5' }), 503, 'withdrawals_paused')
  assert.deepEqual(await coinOf(paid, holder), before)
  await untilHealth('paused')
  const { components } = await read<{ components: { name: string; status: string }[] }>('/v1/status')
  assert.ok(components.some(({ name, status }) => name === 'withdrawals' && status === 'partial_outage'))
  const metrics = await (await fetch(paid.stack.controlMetricsUrl)).text()
  for (const line of [
    'reserve_short 1',
    'withdrawals_paused 1',
    'reserve_owed_units 10000000000',
    'reserve_held_units 0',
  ]) {
    assert.match(metrics, new RegExp(`^sluice_control_${line}$`, 'm'))
  }
  // The treasury has too little for it, and the vault has the rest.
  await paid.chain.mint('coin', VAULT, parseEther('15'))
  await paid.chain.mint('coin', paid.chain.treasury.address, parseEther('4.999999998'))
  await until('both are read', async () => (await read<Reserve>('/v1/reserve')).ratio === '0.99')
  assertRefused(await withdraw(paid, holder, { amount: '5' }), 503, 'withdrawals_paused')
  await paid.chain.fillTreasury()
  await untilWithdrawals('open')
  await untilHealth('open')
  const { status, text } = await withdraw(paid, holder, { amount: '5' }, { 'idempotency-key': 'once' })
  assert.equal(status, 202, text)
  await until('it is sent', async () => (await paid.has('coin', holder.wallet)) === parseEther('5'))
})

test('the reserve matches the chain at its block, by contract and holder', async () => {
  const { held, block, block_hash, token, vault, ...reserve } = await read<Reserve>('/v1/reserve')
  const { hash } = await paid.chain.client.getBlock({ blockNumber: BigInt(block) })
  const [coin, stablecoin] = [getAddress(paid.chain.contracts.coin), getAddress(paid.chain.contracts.stablecoin)]
  assert.deepEqual([block_hash, token.address, vault], [hash, coin, VAULT])
  assert.deepEqual(
    held.map((row) => [row.asset, row.holder, row.token]),
    [
      ['stablecoin', 'treasury', stablecoin],
      ['stablecoin', 'vault', stablecoin],
      ['coin', 'treasury', coin],
      ['coin', 'vault', coin],
    ],
  )
  assert.deepEqual([held[3]?.token_amount, held[3]?.usd], [parseEther('15').toString(), '7.5'])
  assert.equal(reserve.covered, true)
  const history = await read<{ data: { last: Reserve; first: Reserve }[] }>('/v1/reserve/history')
  assert.deepEqual([history.data.at(-1)?.first.held_usd, history.data[0]?.last.covered], ['0', true])
})

test('tokens in blocks that the chain takes back are not held any more', async () => {
  const { client } = paid.chain
  const [from, id] = [await client.getBlockNumber(), await client.snapshot()]
  const inVault = ({ held }: Reserve) =>
    held.find(({ asset, holder }) => asset === 'coin' && holder === 'vault')?.token_amount
  await paid.chain.mint('coin', VAULT, parseEther('7'))
  await until('they are read', async () => inVault(await read<Reserve>('/v1/reserve')) === String(parseEther('22')))
  const blocks = Number((await client.getBlockNumber()) - from) + 20
  await client.revert({ id })
  // The branch that stays is the longer one.
  await client.mine({ blocks })
  await until('the other branch is read', async () => {
    const reserve = await read<Reserve>('/v1/reserve')
    const { hash } = await client.getBlock({ blockNumber: BigInt(reserve.block) })
    return reserve.block_hash === hash && inVault(reserve) === String(parseEther('15'))
  })
})

test('an idempotent response is repeated while withdrawals are paused; a node that is down pauses them', async () => {
  paid.rpc.down = true
  await untilWithdrawals('stale')
  assertRefused(await withdraw(paid, holder, { amount: '5' }), 503, 'withdrawals_paused')
  const again = await withdraw(paid, holder, { amount: '5' }, { 'idempotency-key': 'once' })
  assert.equal(again.status, 202, again.text)
  paid.rpc.down = false
  await untilWithdrawals('open')
})

test('the operator requests an attestation, which a third party verifies up to the checkpoint of the book', async () => {
  const env = { DATABASE_URL: paid.stack.databaseUrl, REDIS_URL: '' }
  const { code, json, stderr } = await runCli(['reserve', 'attest', '--json'], env)
  assert.equal(code, 0, stderr)
  const number = (json as { number: string }).number
  const attestation = (await api(stackUrl(), 'GET', `/v1/reserve/attestations/${number}`)).text
  const { signer, reason } = JSON.parse(attestation) as { signer: { ed25519: string }; reason: string }
  const liability = (await api(stackUrl(), 'GET', '/v1/account/liability', { token: holder.apiKey })).text
  const report = await verifyAttestation({ attestation, signer: signer.ed25519, key: TEST_LOG_VERIFIER, liability })
  assert.deepEqual([report.ok, reason], [true, 'operator'], JSON.stringify(report))
  const { stdout } = await runCli(['reserve', 'show'], env)
  assert.match(stdout, /^withdrawals: open$/m)
  await paid.stack.control.kill9()
  await paid.stack.control.start()
})
