// Goal: every kind of Redis serves. Method: a whole stack on each, with TLS and passwords where the kind has them; a request is
// held, charged and booked.
import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { freePort } from '../../../control/launch/process/freePort.ts'
import { TRUSTED } from '../../support/certificates.ts'
import { chat, completion } from '../../support/clients/chatClient.ts'
import { RedisProcess, type RedisProcessOptions } from '../../support/redis/redisProcess.ts'
import { startTestSentinel } from '../../support/redis/redisSentinel.ts'
import type { TestServer } from '../../support/services.ts'
import { startStack } from '../../support/stack.ts'
import { makeTempDir } from '../../support/tempDir.ts'

const hasValkey = spawnSync('valkey-server', ['--version']).status === 0

async function serves(redis: TestServer, env: NodeJS.ProcessEnv = {}): Promise<void> {
  const stack = await startStack({ redis, env })
  try {
    const { apiKey } = await stack.createAccount()
    completion(await chat(stack.baseUrl, apiKey, { model: 'test/small', max_tokens: 50 }))
  } finally {
    await stack.finish()
  }
}

async function startServer(dir: string, url: string, options: RedisProcessOptions): Promise<TestServer> {
  const server = new RedisProcess(dir, options)
  await server.start()
  return {
    url,
    dir,
    pid: () => server.pid,
    kill9: () => server.kill9(),
    restart: () => server.start(),
    stop: () => server.stop(),
  }
}

test('a server with TLS, a user and a database', async () => {
  const [dir, port, tlsPort] = [makeTempDir('redis'), await freePort(), await freePort()]
  const file = (name: string, text: string): string => {
    writeFileSync(join(dir, name), text, { mode: 0o600 })
    return join(dir, name)
  }
  const cert = file('cert.pem', TRUSTED.cert)
  const settings = {
    // Programs learn at their start alone whom they trust, so the test itself goes without TLS.
    port,
    'tls-port': tlsPort,
    'tls-cert-file': cert,
    'tls-key-file': file('key.pem', TRUSTED.key),
    'tls-ca-cert-file': cert,
    'tls-auth-clients': 'no',
    aclfile: file('users.acl', 'user default on nopass ~* &* +ping\nuser sluice on >p@ss,word ~* &* +@all\n'),
    appendonly: 'yes',
  }
  const place = (scheme: string, to: number): string => `${scheme}://sluice:p%40ss%2Cword@localhost:${to}/1`
  const server = await startServer(dir, place('redis', port), { port, settings })
  await serves(server, { NODE_EXTRA_CA_CERTS: cert, REDIS_URL: place('rediss', tlsPort) })
})

test('a master that Sentinel names, with passwords', async () => {
  await serves(await startTestSentinel({ password: 'of-redis', sentinelPassword: 'of-sentinel' }))
})

test('Valkey', { skip: !hasValkey && 'there is no valkey-server on this machine' }, async () => {
  const [dir, port] = [makeTempDir('redis'), await freePort()]
  const settings = { port, appendonly: 'yes' }
  const options = { port, settings, program: 'valkey-server' }
  await serves(await startServer(dir, `redis://127.0.0.1:${port}`, options))
})
