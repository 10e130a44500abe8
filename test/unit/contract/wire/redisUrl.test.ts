import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseRedisUrl } from '../../../../contract/wire/redisUrl.ts'

test('one server, by its port, with TLS, or by a socket', () => {
  assert.deepEqual(parseRedisUrl('redis://u:p@redis.example.com:6380/1'), {
    kind: 'server',
    url: 'redis://u:p@redis.example.com:6380/1',
    host: 'redis.example.com',
    tls: false,
  })
  assert.deepEqual(parseRedisUrl('rediss://[::1]'), { kind: 'server', url: 'redis://[::1]', host: '::1', tls: true })
  assert.equal(parseRedisUrl('unix:///run/redis/redis.sock').kind, 'server')
})

test('a cluster is named by some of its nodes', () => {
  assert.deepEqual(parseRedisUrl('rediss+cluster://user:p%40ss%2Cword@h1:7000,[2001:db8::1],h3/'), {
    kind: 'cluster',
    nodes: [
      { host: 'h1', port: 7000 },
      { host: '2001:db8::1', port: 6379 },
      { host: 'h3', port: 6379 },
    ],
    username: 'user',
    password: 'p@ss,word',
    tls: true,
  })
})

test('Sentinel is named with the master that it watches', () => {
  assert.deepEqual(
    parseRedisUrl('redis+sentinel://:pw@s1,s2:26380/my%20master/2?sentinel_user=su&sentinel_password=sp'),
    {
      kind: 'sentinel',
      sentinels: [
        { host: 's1', port: 26379 },
        { host: 's2', port: 26380 },
      ],
      master: 'my master',
      database: 2,
      password: 'pw',
      tls: false,
      sentinelUsername: 'su',
      sentinelPassword: 'sp',
    },
  )
})

for (const url of [
  'http://127.0.0.1',
  'redis+cluster://h1:7000/1',
  'redis+cluster://h1:port',
  'redis+cluster://',
  'redis+sentinel://s1',
  'redis+sentinel://s1/master/zero',
  'redis+sentinel://s1/master/0/1',
  'redis://h1:1,h2:2',
]) {
  test(`${url} is rejected, and not repeated in the error`, () => {
    assert.throws(
      () => parseRedisUrl(url),
      (error: Error) =>
        error.message.startsWith('the address of Redis (REDIS_URL) must be') && !/\b[hs]1\b/.test(error.message),
    )
  })
}
