import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { sluice } from '../../control/contract/generated/messages.js'
import { CatalogStore } from '../../proxy/catalog/catalogStore.ts'

const record = (version: number) =>
  Buffer.from(sluice.CatalogRecord.encode({ version, coinUsdUnits: 1, providers: [], models: [] }).finish())

test('a catalog that cannot be read at once is read later, and one that is the same changes nothing', async () => {
  const answers: Array<Buffer | Error> = [record(1), new Error('lost'), new Error('lost'), record(2), record(2)]
  const versions: number[] = []
  const faults: unknown[] = []
  const store = new CatalogStore({
    redis: {
      getBuffer: async () => {
        const answer = answers.shift()
        if (answer instanceof Error) throw answer
        return answer ?? null
      },
    },
    environment: {},
    onChange: ({ sheet }) => versions.push(sheet.version),
    onFault: (error) => faults.push(error),
  })
  assert.equal(await store.refresh(), true)
  store.renew()
  await sleep(600)
  assert.deepEqual([versions, faults.length], [[1, 2], 2])
  store.renew()
  await sleep(20)
  assert.deepEqual([versions, answers.length], [[1, 2], 0])
})
