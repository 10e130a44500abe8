// Goal: no body, however broken, is a fault of the account API, and none makes or loses money. Method: sound requests of
// every route with a body are mutated at random and sent to a whole stack on a chain. The seed is in the message;
// SLUICE_FUZZ_SEED repeats it.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { API_ROUTES, type ApiOperation } from '../../../contract/api/routes.ts'
import { lockTokensInitCode } from '../../../control/chain/deploy/initCodes.ts'
import { provideContract } from '../../../control/launch/chain/deploy.ts'
import { api, apiOk, type Json, signedMessage } from '../../support/clients/apiClient.ts'
import { newHolder, signDeposit } from '../../support/clients/moneyClient.ts'
import { searchTool } from '../../support/clients/toolClient.ts'
import { type PaidStack, startPaidStack } from '../../support/paidStack.ts'
import { rounds } from '../../support/rounds.ts'
import { Mutator, newSeed, seededRandom } from '../../support/samples/mutations.ts'
import { TestWitness } from '../../support/testWitness.ts'

const MUTATIONS = rounds({ short: 250, long: 3_000 })
const AT_ONCE = 10
const AGENT = '/v1/agents/an-agent'
const ONE = 1_000_000n

/** Of a key or an agent. */
const SETTINGS = {
  name: 'n',
  paused: false,
  caps: { hour: '5', day: '10', month: null },
  budget: '100',
  models: ['test/small'],
  tools: ['web.search'],
  no_logs: false,
  private_tier: false,
  capture_content: false,
  allow_retention: true,
  requests_per_minute: 60,
}
const KEY = { ...SETTINGS, can_transfer: true, expires_at: '2099-01-01T00:00:00Z' }

const ISSUE = [
  'lock',
  'issue',
  'test/small',
  '--provider',
  'mock',
  '--price',
  '0.15',
  '--supply',
  '1000',
  '--offer',
  '0.1',
]

interface Sound {
  readonly path: string
  readonly token: string
  readonly body: unknown
}

const witness = new TestWitness('witness.example.com')

let paid: PaidStack
let sound: Readonly<Partial<Record<ApiOperation, Sound>>>

before(async () => {
  paid = await startPaidStack({
    catalog: { tools: [searchTool('web.search')] },
    limits: {
      apiRequestsPerMinute: 600_000,
      apiRequestBurst: 100_000,
      signInRequestsPerMinute: 600_000,
      signInRequestBurst: 100_000,
      signatureFailuresPerMinute: 600_000,
      providerChecksPerMinute: 600_000,
      referralAttachesMax: 100_000,
      keysPerAccountMax: 100_000,
    },
    payments: async ({ client, treasury }) => ({
      lock_tokens: await provideContract(client, lockTokensInitCode(treasury.address)),
    }),
    env: { SLUICE_PRIVATE_PROVIDERS: '1', SLUICE_LOG_WITNESSES: witness.verifier },
  })
  sound = await soundRequests()
})
after(() => paid.stop())

/** A sound request of every route of the account API that takes a body, with what their paths name. */
async function soundRequests(): Promise<Readonly<Partial<Record<ApiOperation, Sound>>>> {
  const url = paid.stack.baseUrl
  const { token, wallet } = await newHolder(paid, '50', { coin: 0n, stablecoin: 10n * ONE })
  const create = async (path: string, body: Json, by = token): Promise<Json> =>
    apiOk<Json>(url, 'POST', path, { token: by, body })
  const { api_key: platform } = await create('/v1/account/keys', { platform: true })
  const { id: keyId } = await create('/v1/account/keys', {})
  const { id: subKeyId } = await create('/v1/platform/keys', {}, String(platform))
  await create('/v1/agents', { slug: 'an-agent', approval_threshold: '0' })
  await create(`${AGENT}/fund`, { amount: '5' })
  const { api_key: agentKey } = await create(`${AGENT}/key`, {})
  const payment = { to: 'owner', amount: '0.001', note: 'why' }
  const asked = await api(url, 'POST', `${AGENT}/pay`, { token: String(agentKey), body: payment })
  const approval = String((asked.body['approval'] as Json | undefined)?.['id'] ?? asked.body['id'])
  const link = await create('/v1/links', { amount: '0.1' })
  const issued = await paid.stack.cli(...ISSUE)
  const series = String((issued.json as Json)['id'])
  const bought = { series, side: 'buy', tokens: '0.5' }
  const bid = await create('/v1/locks/orders', { ...bought, tokens: '40', type: 'limit', price: '0.001' })
  await create('/v1/locks/orders', { ...bought, type: 'market', tokens: '3' })
  const checkpoint = `test.example.com/v1/log\n1\n${Buffer.alloc(32).toString('base64')}\n`
  const proof = await signedMessage(url, wallet)
  const with_ = (path: string, body: unknown, by: unknown = token): Sound => ({ path, body, token: String(by) })
  return {
    sign_in: with_('/v1/auth/verify', proof, ''),
    link_sign_in: with_('/v1/auth/link', { code: `lc_${'a'.repeat(43)}` }),
    link_wallet: with_('/v1/account/wallets', proof),
    update_account: with_('/v1/account', { name: 'n', allow_retention: null, transfer_cap_day: '5' }),
    create_key: with_('/v1/account/keys', { ...KEY, platform: true }),
    update_key: with_(`/v1/account/keys/${keyId}`, KEY),
    create_link: with_('/v1/links', { amount: '0.1', note: 'n', expires_at: '2099-01-01T00:00:00Z' }),
    claim_link: with_(`/v1/links/${link['token']}/claim`, {}),
    cancel_link: with_(`/v1/links/${link['id']}/cancel`, {}),
    quote_lock: with_('/v1/locks/quote', { series, tokens: '0.5' }),
    create_lock_order: with_('/v1/locks/orders', { ...bought, tokens: '40', type: 'limit', price: '0.002' }),
    cancel_lock_order: with_(`/v1/locks/orders/${bid['id']}/cancel`, {}),
    create_lock_withdrawal: with_('/v1/locks/withdrawals', { series, tokens: '1', address: wallet.address }),
    create_agent: with_('/v1/agents', { slug: 'another', ...SETTINGS, description: 'd', request_cap: '1' }),
    update_agent: with_(AGENT, { ...SETTINGS, description: 'd', request_cap: '1', approval_threshold: '0' }),
    fund_agent: with_(`${AGENT}/fund`, { amount: '0.01', note: 'n' }),
    issue_agent_key: with_(`${AGENT}/key`, {}),
    pay_from_agent: with_(`${AGENT}/pay`, payment),
    approve: with_(`${AGENT}/approvals/${approval}/approve`, {}),
    deny: with_(`${AGENT}/approvals/${approval}/deny`, {}),
    create_sub_key: with_('/v1/platform/keys', { ...SETTINGS, user: 'u' }, platform),
    revoke_sub_key: with_(`/v1/platform/keys/${subKeyId}/revoke`, {}, platform),
    attach_referral: with_('/v1/referrals', { code: 'ABCDEFGH' }),
    register_provider: with_('/v1/providers', {
      name: 'p',
      base_url: 'http://127.0.0.1:9/v1',
      dialect: 'openai',
      api_key: 'k',
      data_policy: 'none',
    }),
    cosign_checkpoint: with_('/v1/log/checkpoint', { note: `${checkpoint}\n${witness.line(checkpoint)}` }, ''),
    create_deposit: with_('/v1/account/deposits', await signDeposit(paid, wallet, 2n * ONE)),
    create_withdrawal: with_('/v1/account/withdrawals', { amount: '1', asset: 'coin', address: wallet.address }),
  }
}

test('every route of the account API that accepts a body has a valid sample request', () => {
  const taking = Object.entries(API_ROUTES).flatMap(([operation, { body }]) => (body === undefined ? [] : [operation]))
  assert.deepEqual(Object.keys(sound).sort(), taking.sort())
})

test(`none of ${MUTATIONS} malformed requests to the account API causes an internal error`, async () => {
  const seed = newSeed()
  const mutator = new Mutator(seededRandom(seed))
  const rows = Object.entries(sound) as [ApiOperation, Sound][]
  const statuses = new Map<number, number>()
  const send = async (i: number): Promise<void> => {
    const [operation, { path, token, body }] = rows[i % rows.length] ?? assert.fail()
    const bytes = mutator.mutate(JSON.stringify(body))
    const init = { method: API_ROUTES[operation].method, headers: { 'content-type': 'application/json' }, body: bytes }
    const headers: Record<string, string> = token === '' ? {} : { authorization: `Bearer ${token}` }
    const answer = await fetch(paid.stack.baseUrl + path, { ...init, headers: { ...init.headers, ...headers } })
    const text = await answer.text()
    statuses.set(answer.status, (statuses.get(answer.status) ?? 0) + 1)
    const isFault = answer.status === 500 || text.includes('"internal_error"')
    assert.ok(!isFault, `seed ${seed}: ${operation} ${bytes.toString().slice(0, 2_000)}: ${text}`)
  }
  for (let sent = 0; sent < MUTATIONS; sent += AT_ONCE) {
    await Promise.all(Array.from({ length: AT_ONCE }, (_one, i) => send(sent + i)))
  }
  const shown = `seed ${seed}: ${JSON.stringify([...statuses])}`
  assert.ok((statuses.get(400) ?? 0) > MUTATIONS / 4, shown)
  assert.ok((statuses.get(200) ?? 0) + (statuses.get(201) ?? 0) > MUTATIONS / 50, shown)
  assert.doesNotMatch(paid.stack.logs(), /rpc_call_failed/, shown)
  await paid.audited()
})
