// Goal: an admission state that is lost altogether is rebuilt from the book, and requests that were under way are charged
// once. Method: Redis is emptied, or taken back to an older state, while clients keep asking.
import { cpSync } from 'node:fs'
import { after, before, test } from 'node:test'
import { type Stack, startStack, type TestAccount, until } from '../support/stack.ts'
import { makeTempDir, removeTempDir } from '../support/tempDir.ts'
import { assertWorkload, describe, startWorkload } from '../support/workload.ts'

let stack: Stack
let account: TestAccount

before(async () => {
  stack = await startStack({
    catalog: { models: [{ id: 'test/paced', upstream: 'mock,chunks=20,delay=20' }] },
    limits: { heartbeatIntervalMs: 200, heartbeatTimeoutMs: 4_000, orphanCheckMs: 200 },
  })
  account = await stack.createAccount({ credits: '5', coin: '5', args: ['--cap-day', '9'] })
})
after(() => stack.finish())

test('Redis is emptied while streams run', async () => {
  const workload = startWorkload(stack, account, ['test/paced'], 12)
  for (let round = 0; round < 2; round++) {
    const seen = workload.answered()
    await until('answers come', () => workload.answered() >= seen + 30)
    await stack.withRedis((redis) => redis.flushall())
    await until('admission is open again', () =>
      stack.withRedis(async (redis) => (await redis.keys('epoch:*')).length === 64),
    )
  }
  const seen = workload.answered()
  await until('answers come again', () => workload.answered() >= seen + 30)
  const result = await workload.stop()
  await stack.settled()
  await stack.audit()
  await assertWorkload(stack, result, 90)
  process.stdout.write(`# ${describe(result)}\n`)
})

test('Redis is restored from an older append-only file', async () => {
  const workload = startWorkload(stack, account, ['test/paced'], 12)
  await until('answers come', () => workload.answered() >= 30)
  const kept = makeTempDir('older')
  cpSync(stack.redis.dir, kept, { recursive: true, filter: (path) => !path.endsWith('.log') })
  const seen = workload.answered()
  await until('more answers come', () => workload.answered() >= seen + 30)
  await stack.redis.kill9()
  cpSync(kept, stack.redis.dir, { recursive: true, force: true })
  await stack.redis.restart()
  const back = workload.answered()
  await until('answers come again', () => workload.answered() >= back + 30)
  const result = await workload.stop()
  removeTempDir(kept)
  await stack.settled()
  await stack.audit()
  await assertWorkload(stack, result, 90)
  process.stdout.write(`# ${describe(result)}\n`)
})
