// Goal: a Redis that hangs costs neither memory nor charges. Method: the real connection to a Redis that is stopped and
// goes on, with endings that arrive meanwhile.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { connectRedis } from '../../../contract/wire/redis.ts'
import { accountKey, epochKey, holdsKey, ledgerStream } from '../../../contract/wire/redisKeys.ts'
import { defineScript } from '../../../contract/wire/scripts.ts'
import { limits } from '../../support/limits.ts'
import { endingOf, settlementsOver, waiterOf } from '../../support/parts/settlements.ts'
import { startTestRedis } from '../../support/services.ts'
import { until } from '../../support/stack.ts'
import { makeTempDir, removeTempDir } from '../../support/tempDir.ts'

const ENDINGS = 600

test('while Redis hangs nothing piles up in its connection; afterwards every ending is accepted once', async (t) => {
  const server = await startTestRedis()
  const commands = connectRedis(server.url, { failAfterMs: limits.redisTimeoutMs })
  commands.on('error', () => {})
  const folder = makeTempDir('journal')
  t.after(async () => {
    commands.disconnect()
    process.kill(server.pid() ?? 0, 'SIGCONT')
    await server.stop()
    removeTempDir(folder)
  })
  await until('Redis is connected', () => commands.status === 'ready')
  await commands.set(epochKey(0), 'e')
  await commands.hset(accountKey(0, 'acct_test'), 'coin', 0)
  for (let i = 0; i < ENDINGS; i++) {
    await commands.hset(holdsKey(0, 'own_test'), `req_${i}`, '7|1|acct_test|key_test|1|1|1|7||m')
  }
  const settle = defineScript(commands, 'settle')
  let sentMeanwhile = 0
  const { settlements, end } = settlementsOver(folder, () => [], {
    script: (keys, args) => {
      sentMeanwhile += Number(args[0])
      return settle(keys, args)
    },
    connected: () => commands.status === 'ready',
  })
  process.kill(server.pid() ?? 0, 'SIGSTOP')
  const first = waiterOf()
  for (let i = 0; i < ENDINGS; i++) end(endingOf(`req_${i}`), i === 0 ? first : undefined)
  await until('the connection is given up', () => commands.status !== 'ready')
  await sleep(limits.redisTimeoutMs + 500)
  assert.equal(sentMeanwhile, ENDINGS, 'each is sent once, and not again into a connection that does not answer')
  assert.notEqual(commands.status, 'ready')
  assert.deepEqual(first.told, ['delayed'])
  process.kill(server.pid() ?? 0, 'SIGCONT')
  await until('all are accepted', () => settlements.allAccepted, 15_000)
  assert.equal(await commands.xlen(ledgerStream(0)), ENDINGS)
  assert.equal(await commands.hget(accountKey(0, 'acct_test'), 'coin'), String(ENDINGS * 2))
})
