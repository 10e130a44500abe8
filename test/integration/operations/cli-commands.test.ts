import assert from 'node:assert/strict'
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { pino } from 'pino'
import { sluice } from '../../../contract/wire/generated/messages.js'
import { hashSecret } from '../../../contract/wire/ids.ts'
import type { Redis } from '../../../contract/wire/redis.ts'
import { accountKey, CATALOG_KEY, FEED_STREAM, holdsKey, leasesKey, shardOf } from '../../../contract/wire/redisKeys.ts'
import { ensureAdmission } from '../../../control/admission/keeper.ts'
import { NoteKey } from '../../../control/book/checkpoint/noteKey.ts'
import { type Pool } from '../../../control/runtime/db/pool.ts'
import { resolveKey } from '../../../control/service/keyRecords.ts'
import { type CliResult, callCli, runCli } from '../../support/cli.ts'
import { type CliWorld, startCliWorld } from '../../support/cliWorld.ts'
import { limits } from '../../support/limits.ts'
import { removeTempDir } from '../../support/tempDir.ts'

let world: CliWorld
let dir: string
let catalogFile: string
let redis: Redis
let pool: Pool
let env: NodeJS.ProcessEnv

before(async () => {
  world = await startCliWorld()
  ;({ dir, catalogFile, redis, pool, env } = world)
})
after(() => world.stop())

const cli = (...args: string[]): Promise<CliResult> => world.commands.run(args)

/** Runs a command that has to succeed and returns its JSON. */
async function ok<T = Record<string, unknown>>(...args: string[]): Promise<T> {
  const result = await cli(...args, '--json')
  assert.equal(result.code, 0, `${args.join(' ')}: ${result.stdout}${result.stderr}`)
  return result.json as T
}

async function lastKeyEvent(): Promise<string | null | undefined> {
  const [last] = await redis.xrevrangeBuffer(FEED_STREAM, '+', '-', 'COUNT', 1)
  const bytes = last?.[1][1]
  return bytes && sluice.FeedEvent.decode(bytes).keyChanged
}

test('a catalog is checked and published, and its promises are enforced', async () => {
  const checked = await ok('catalog', 'check')
  assert.deepEqual(checked, { ok: true, models: 1, providers: 1, promises_checked: true })
  assert.deepEqual(await ok('catalog', 'publish'), { ok: true, version: '1', new_sheet: true, changed: true })
  assert.equal(sluice.CatalogRecord.decode((await redis.getBuffer(CATALOG_KEY)) ?? assert.fail()).version, 1)
  world.writeCatalog('2')
  const refused = await cli('catalog', 'check')
  assert.equal(refused.code, 1)
  assert.match(refused.stdout, /catalog\.yaml:\d+: test\/small: price\.input may not rise from 1 to 2 USD per million/)
  assert.equal((await cli('catalog', 'publish')).code, 1)
  const broken = join(dir, 'broken.yaml')
  writeFileSync(broken, 'coin: { usd: 1 }\n')
  const wrong = await cli('catalog', 'check', broken)
  assert.equal(wrong.code, 1)
  assert.match(wrong.stdout, /^broken\.yaml:1: coin\.usd must be a decimal string/m)
  world.writeCatalog('1')
  const recoined = join(dir, 'recoined.yaml')
  writeFileSync(recoined, readFileSync(catalogFile, 'utf8').replace('"usd": "0.5"', '"usd": "0.6"'))
  const unasked = await cli('catalog', 'publish', recoined)
  assert.deepEqual([unasked.code, unasked.stdout.split(':')[0]], [1, 'recoined.yaml'])
  assert.match(unasked.stdout, /coin\.usd may not change from 0\.5 to 0\.6/)
  assert.equal((await cli('catalog', 'publish', recoined, '--change-coin', ' ')).code, 2)
  assert.equal((await ok<{ version: string }>('catalog', 'publish', recoined, '--change-coin', 'market')).version, '2')
  const { data } = await ok<{ data: { type: string; details: unknown }[] }>('trail')
  assert.deepEqual(
    [data[0]?.type, data[0]?.details],
    ['coin.repriced', { from_usd: '0.5', to_usd: '0.6', reason: 'market' }],
  )
  await ok('catalog', 'publish', '--change-coin', 'back')
  world.writeCatalog('1')
})

test('an account is created with a key that works immediately', async () => {
  const made = await ok<{ account_id: string; key_id: string; api_key: string; balance: object }>(
    'account',
    'create',
    '--credits',
    '10',
    '--coin',
    '3',
  )
  assert.deepEqual(Object.keys(made), ['account_id', 'key_id', 'api_key', 'balance'])
  const record = await resolveKey(pool, hashSecret(made.api_key))
  assert.deepEqual([record.accountId, record.keyId], [made.account_id, made.key_id])
  assert.deepEqual(made.balance, { coin: '3', credits: '10' })
  const state = await redis.hgetall(accountKey(shardOf(made.account_id), made.account_id))
  assert.equal(state['coin'], '3000000000')
  assert.match(state['g'] ?? '', /,10000000000$/)
  const shown = await ok<{ balance: object; credits: Array<{ amount: string; source: string }> }>(
    'account',
    'show',
    made.account_id,
  )
  assert.deepEqual(shown.balance, { coin: '3', credits: '10' })
  assert.deepEqual([shown.credits[0]?.amount, shown.credits[0]?.source], ['10', 'operator'])
  await ok('account', 'credit', made.account_id, '--coin', '0.5', '--ref', 'p1')
  const listed = await cli('account', 'list')
  assert.match(listed.stdout, new RegExp(`^${made.account_id} `, 'm'))
})

test('a payment is credited once to an account, and every repeat is reported to the operator', async () => {
  const make = async () => (await ok<{ account_id: string }>('account', 'create')).account_id
  const [first, second] = [await make(), await make()]
  for (const id of [first, second]) {
    for (const [money, balance] of [
      ['--credits', { coin: '0', credits: '5' }],
      ['--coin', { coin: '5', credits: '5' }],
    ] as const) {
      const payment = [id, money, '5', '--ref', `order-7${money}`]
      const once = await ok('account', 'credit', ...payment)
      assert.deepEqual([once['credited'], once['balance']], [true, balance])
      const again = await ok('account', 'credit', ...payment)
      assert.deepEqual([again['credited'], again['balance']], [false, balance])
      const told = await cli('account', 'credit', ...payment)
      assert.equal(told.code, 0)
      assert.match(told.stdout, new RegExp(`^order-7${money} was credited to this account before; nothing is changed`))
    }
  }
  const others = [
    ['--credits', '6', '--ref', 'order-7--credits'],
    ['--coin', '6', '--ref', 'order-7--coin'],
    ['--coin', '5', '--ref', 'order-7--credits'],
  ]
  for (const other of others) {
    const refused = await cli('account', 'credit', second, ...other)
    assert.equal(refused.code, 1)
    assert.match(
      refused.stderr,
      /^sluice: order-7.* was credited to account acct_\w+ before with another amount: .*\n$/,
    )
    assert.equal(refused.stdout, '')
  }
  const shown = await ok<{ balance: object }>('account', 'show', second)
  assert.deepEqual(shown.balance, { coin: '5', credits: '5' })
})

test('the output for an account includes its opening balances', async () => {
  const made = await cli('account', 'create', '--credits', '2.5')
  assert.match(made.stdout, /^credits: 2\.5 USD$/m)
  assert.match(made.stdout, /^coin: +0$/m)
})

test('an out-of-range balance is rejected in one line', async () => {
  const { account_id: id } = await ok<{ account_id: string }>('account', 'create', '--coin', '9000000')
  await ok('account', 'credit', id, '--credits', '9000000')
  const large = await ok('account', 'credit', id, '--credits', '9000000')
  assert.deepEqual(large['balance'], { coin: '9000000', credits: '18000000' })
  const refused = await cli('account', 'credit', id, '--coin', '9000000')
  assert.equal(refused.code, 1)
  assert.match(
    refused.stderr,
    /^sluice: the balance would be too large; an account holds at most 9007199\.25.* coin or USD\n$/,
  )
})

test('without a file, the command uses the catalog of the running control', async (t) => {
  const run = join(dir, 'run')
  mkdirSync(run)
  const demo = join(run, 'demo-catalog.yaml')
  copyFileSync(catalogFile, demo)
  const addresses = JSON.parse(readFileSync(join(dir, 'run.json'), 'utf8'))
  writeFileSync(join(run, 'run.json'), JSON.stringify({ ...addresses, catalog: demo }))
  const ofRun = { ...env, SLUICE_DATA: run, SLUICE_CATALOG: '' }
  const checked = await callCli(['catalog', 'check'], ofRun)
  assert.ok(checked.stdout.startsWith(`${demo} holds: 1 models`), checked.stdout + checked.stderr)
  const published = await callCli(['catalog', 'publish'], ofRun)
  assert.match(published.stdout, /demo-catalog\.yaml: nothing changed; price sheet 3 is in force/)
  t.after(() => removeTempDir(run))
  const named = await callCli(['catalog', 'check'], { ...ofRun, SLUICE_CATALOG: catalogFile })
  assert.ok(named.stdout.startsWith(`${catalogFile} holds`), named.stdout)
})

test('a missing catalog file is named, without any other error', async () => {
  const missing = await cli('catalog', 'check', join(dir, 'nowhere.yaml'))
  assert.equal(missing.code, 1)
  assert.equal(missing.stdout, `${join(dir, 'nowhere.yaml')}: there is no such file\n`)
  assert.match((await cli('catalog', 'check', dir)).stdout, /: there is no such file\n$/)
})

test('invalid limits are reported in one line', async () => {
  for (const [limits, says] of [
    ['{"nope":1}', 'sluice: SLUICE_LIMITS names an unknown limit: nope\n'],
    ['{', /^sluice: SLUICE_LIMITS is not valid JSON: .*\n$/],
  ] as const) {
    const refused = await runCli(['account', 'list'], { ...env, SLUICE_LIMITS: limits })
    assert.equal(refused.code, 1)
    if (typeof says === 'string') assert.equal(refused.stderr, says)
    else assert.match(refused.stderr, says)
  }
})

test('a key is limited, paused, resumed and revoked, and the proxies are notified each time', async () => {
  const caps = ['--cap-hour', '0.5', '--budget', '2', '--model', 'test/small', '--no-logs', '--rpm', '60']
  const { account_id: accountId } = await ok<{ account_id: string }>('account', 'create', '--credits', '1', ...caps)
  const { data } = await ok<{ data: Array<{ key_id: string; caps: object }> }>('key', 'list', accountId)
  assert.deepEqual(data[0]?.caps, { hour: '0.5', day: null, month: null })
  const key = await ok<Record<string, string>>('key', 'create', accountId, '--cap-day', '1', '--private-tier')
  const keyId = key['key_id'] ?? ''
  const hash = hashSecret(key['api_key'] ?? '')
  assert.equal((await resolveKey(pool, hash)).privateTier, true)
  const updated = await ok('key', 'update', keyId, '--cap-day', 'none', '--cap-month', '3', '--standard-tier')
  assert.deepEqual(updated['caps'], { hour: null, day: null, month: '3' })
  assert.equal(await lastKeyEvent(), hash)
  assert.equal((await resolveKey(pool, hash)).privateTier, false)
  assert.equal((await ok('key', 'pause', keyId))['state'], 'paused')
  assert.equal((await resolveKey(pool, hash)).paused, true)
  assert.equal((await ok('key', 'resume', keyId))['state'], 'active')
  const events = await redis.xlen(FEED_STREAM)
  assert.equal((await ok('key', 'revoke', keyId))['state'], 'revoked')
  assert.equal(await redis.xlen(FEED_STREAM), events + 1)
  await assert.rejects(resolveKey(pool, hash), { code: 'invalid_api_key' })
  assert.match((await cli('key', 'resume', keyId)).stderr, /a revoked key cannot be changed/)
  assert.match((await cli('key', 'show', keyId)).stdout, /^state: +revoked$/m)
})

test('open holds are listed', async () => {
  assert.match((await cli('holds', 'list')).stdout, /^no hold is open$/m)
  await redis.hset(holdsKey(3, 'own_x'), 'req_1', '1500|1000|acct_a|key_a|1|1|1|1500||test/small,chat,1,1')
  const { data } = await ok<{ data: Array<Record<string, string>> }>('holds', 'list')
  assert.deepEqual([data[0]?.['request_id'], data[0]?.['usd'], data[0]?.['owner']], ['req_1', '0.0000015', 'own_x'])
  await redis.del(holdsKey(3, 'own_x'))
})

test('leased amounts are listed', async () => {
  assert.match((await cli('leases', 'list')).stdout, /^nothing is leased$/m)
  const lease = 'acct_a|key_a/key_b|490000|20416|670|1500|grt_a=500,grt_b=3'
  await redis.hset(leasesKey(3, 'own_x'), { op: 7, seq: 2, load: 1, 'L:key_a:490000': lease })
  const { data } = await ok<{ data: Array<Record<string, string>> }>('leases', 'list')
  assert.deepEqual(data, [
    {
      owner: 'own_x',
      account_id: 'acct_a',
      key_id: 'key_a',
      units: '2003',
      usd: '0.000002003',
      coin_units: '1500',
      coin: '0.0000015',
      hour: '2025-11-24T16:00:00.000Z',
    },
  ])
  assert.match((await cli('leases', 'list')).stdout, /^own_x +acct_a +key_a +0\.000002003 +2025-11-24T16/m)
  await redis.del(leasesKey(3, 'own_x'))
})

test('the audit reports the result of every invariant, and fails if one is violated', async () => {
  await ensureAdmission({ pool, redis, log: pino({ enabled: false }), limits })
  const sound = await ok<{ ok: boolean; checks: Array<{ ok: boolean }> }>('audit')
  assert.ok(sound.ok && sound.checks.length > 5)
  const made = await ok<{ account_id: string }>('account', 'create', '--coin', '1')
  await redis.hset(accountKey(shardOf(made.account_id), made.account_id), 'coin', '7')
  const broken = await cli('audit')
  assert.equal(broken.code, 1)
  assert.match(broken.stdout, /^BROKEN .*/m)
  assert.ok(broken.stdout.includes(made.account_id), broken.stdout)
  await redis.hset(accountKey(shardOf(made.account_id), made.account_id), 'coin', '1000000000')
  assert.equal((await cli('audit')).code, 0)
})

test('a log key is created together with its verifier key', async () => {
  const { key, verifier } = await ok<{ key: string; verifier: string }>('log', 'key', 'gateway.example.com/v1/log')
  assert.equal(NoteKey.of(key).verifier(), verifier)
  assert.match(verifier, /^gateway\.example\.com\/v1\/log\+/)
  assert.equal((await cli('log', 'key', 'a name')).code, 2)
})

test('an account is created while Redis is down, and the operator is warned', async () => {
  const result = await callCli(['account', 'create', '--credits', '1', '--json'], {
    ...env,
    REDIS_URL: 'redis://127.0.0.1:1',
  })
  assert.equal(result.code, 0, result.stderr)
  assert.match(result.stderr, /the gateway takes it up when Redis is back/)
})
