import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sluice } from '../../../../contract/wire/generated/messages.js'
import { CATALOG_KEY } from '../../../../contract/wire/redisKeys.ts'
import { CatalogStore } from '../../../../proxy/catalog/catalogStore.ts'
import { KeySecrets } from '../../../../proxy/catalog/keySecrets.ts'
import { limits } from '../../../support/limits.ts'
import { until } from '../../../support/stack.ts'

const record = (version: number) =>
  Buffer.from(sluice.CatalogRecord.encode({ version, coinUsdUnits: 1, providers: [], models: [] }).finish())

test('a catalog that cannot be read is retried, and an identical one changes no state', async () => {
  const answers: Array<Buffer | Error> = [record(1), new Error('lost'), new Error('lost'), record(2), record(2)]
  const versions: number[] = []
  const faults: unknown[] = []
  const store = new CatalogStore({
    redis: {
      getBuffer: async (key) => {
        if (key !== CATALOG_KEY) return null
        const answer = answers.shift()
        if (answer instanceof Error) throw answer
        return answer ?? null
      },
    },
    busKeys: [Buffer.alloc(32)],
    secrets: new KeySecrets({}, limits),
    onKeysChanged: () => assert.fail('it has no keys'),
    onChange: ({ sheet }) => versions.push(sheet.version),
    onFault: (error) => faults.push(error),
  })
  assert.equal(await store.refresh(), true)
  store.renew()
  await until('it is read', () => versions.length === 2)
  assert.deepEqual([versions, faults.length], [[1, 2], 2])
  store.renew()
  await until('it is read again', () => answers.length === 0)
  await new Promise((resolve) => setImmediate(resolve))
  assert.deepEqual([versions, answers.length], [[1, 2], 0])
})
