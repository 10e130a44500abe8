import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { after, before, test } from 'node:test'
import { connectRedis, type Redis } from '../../../contract/wire/redis.ts'
import { parseRedisAddress } from '../../../proxy/bus/link/redisAddress.ts'
import { RedisLink } from '../../../proxy/bus/link/redisLink.ts'
import { limits } from '../../support/limits.ts'
import { until } from '../../support/parts/ledger.ts'
import { startTestRedis, type TestServer } from '../../support/services.ts'

const TIMEOUT_MS = 400
let server: TestServer
let redis: Redis
const links: RedisLink[] = []

before(async () => {
  server = await startTestRedis()
  redis = connectRedis(server.url, 'wait')
  redis.on('error', () => {})
})
after(async () => {
  for (const link of links) link.close()
  redis.disconnect()
  await server.stop()
})

async function openLink(url = server.url): Promise<{ link: RedisLink; faults: unknown[] }> {
  const address = parseRedisAddress(url)
  assert.ok(address)
  const faults: unknown[] = []
  const link = new RedisLink({
    address,
    limits: { ...limits, redisTimeoutMs: TIMEOUT_MS },
    onFault: (error) => faults.push(error),
  })
  links.push(link)
  await until('the link is up', async () => link.connected)
  return { link, faults }
}

/** The heartbeat script: sets the score of an owner, and answers with a number or text. */
const beat = (link: RedisLink, owner: string): Promise<unknown> => link.script('heartbeat')(['owners'], [owner])

test('a script runs, also one that the server has forgotten', async () => {
  const { link } = await openLink()
  await beat(link, 'own_a')
  assert.notEqual(await redis.zscore('owners', 'own_a'), null)
  await redis.script('FLUSH')
  await beat(link, 'own_b')
  assert.notEqual(await redis.zscore('owners', 'own_b'), null)
})

test('answers come to those who asked, in whatever number they ask at once', async () => {
  const { link } = await openLink()
  const hold = link.script('hold')
  const key = (name: string) => `${name}:{s00}:${randomBytes(4).toString('hex')}`
  const asked = Array.from({ length: 300 }, (_, i) => i % 5)
  const replies = await Promise.all(
    asked.map((count) => {
      const keys = Array.from({ length: count }, () => ['epoch', 'acct', 'key', 'holds', 'ledger'].map(key)).flat()
      const args = Array.from({ length: count }, (_, i) => [
        `req_${i}`,
        'acct_x',
        'key_x',
        1,
        1,
        '',
        '',
        '',
        '',
        '',
        'm,chat,1,0',
      ])
      return hold(keys, [count, 1_000, ...args.flat()]) as Promise<number[]>
    }),
  )
  for (const [i, count] of asked.entries()) assert.equal(replies[i]?.length, 1 + count * 3)
})

test('an error of a script rejects its call alone', async () => {
  const { link } = await openLink()
  const [bad, good] = await Promise.allSettled([link.script('settle')(['a'], ['nonsense']), beat(link, 'own_c')])
  assert.equal(bad.status, 'rejected')
  assert.equal(good.status, 'fulfilled')
})

test('calls under way when the server dies are rejected, and the link comes back', async () => {
  const { link } = await openLink()
  await redis.call('CLIENT', ['PAUSE', '10000'])
  const lost = assert.rejects(beat(link, 'own_d'), /the connection to Redis was lost/)
  await server.kill9()
  await lost
  assert.equal(link.connected, false)
  await assert.rejects(beat(link, 'own_d'), /there is no connection to Redis/)
  await server.restart()
  await until('the link is back', async () => link.connected)
  await beat(link, 'own_d')
})

test('a server that is late is given up within the bound', async () => {
  const { link, faults } = await openLink()
  const pid = server.pid() ?? assert.fail()
  process.kill(pid, 'SIGSTOP')
  // It answers only after this.
  await assert
    .rejects(beat(link, 'own_e'), /the connection to Redis was lost/)
    .finally(() => process.kill(pid, 'SIGCONT'))
  assert.ok(faults.some((fault) => String(fault).includes('did not answer in time')))
  await until('the link is back', async () => link.connected)
  await beat(link, 'own_e')
})

test('a password and a database are used; a wrong password never connects', async () => {
  await redis.config('SET', 'requirepass', 'hush')
  try {
    const url = new URL(server.url)
    url.password = 'hush'
    url.pathname = '/2'
    const { link } = await openLink(url.href)
    await beat(link, 'own_f')
    await redis.call('AUTH', ['hush'])
    assert.equal(await redis.zscore('owners', 'own_f'), null)
    await redis.select(2)
    assert.notEqual(await redis.zscore('owners', 'own_f'), null)
    url.password = 'wrong'
    const address = parseRedisAddress(url.href)
    assert.ok(address)
    const faults: unknown[] = []
    const refused = new RedisLink({ address, limits, onFault: (error) => faults.push(error) })
    links.push(refused)
    await until('it was refused twice', async () => faults.length >= 2)
    assert.equal(refused.connected, false)
    assert.match(String(faults[0]), /WRONGPASS|invalid/)
  } finally {
    await redis.select(0)
    await redis.config('SET', 'requirepass', '')
  }
})
