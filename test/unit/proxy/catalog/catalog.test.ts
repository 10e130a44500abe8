import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sluice } from '../../../../contract/wire/generated/messages.js'
import { decodeServing } from '../../../../proxy/catalog/canary.ts'
import { decodeCatalog } from '../../../../proxy/catalog/catalog.ts'

const provider = (id: string, dialect: string) => ({ id, dialect, baseUrl: 'https://host.test/v1', dataPolicy: 'none' })
const routes = ['later', 'now'].map((id) => ({ provider: id, model: 'm', enabled: true }))

test('a provider of a dialect that only a later version knows is left out, and its models keep their other routes', () => {
  const record = sluice.CatalogRecord.encode({
    providers: [provider('later', 'gemini'), provider('now', 'openai')],
    models: [
      { id: 'both', modality: 'chat', routes },
      { id: 'later', modality: 'chat', routes: routes.slice(0, 1) },
    ],
  }).finish()
  const { providers, models } = decodeCatalog(record, {})
  assert.deepEqual([...providers.keys()], ['now'])
  assert.deepEqual(
    models.get('both')?.enabledRoutes.map((route) => route.id),
    ['now/m'],
  )
  assert.deepEqual(models.get('later')?.enabledRoutes, [])
})

test('a registered provider of such a dialect serves nothing', () => {
  const serving = ['gemini', 'openai'].map((dialect) => ({
    provider: dialect,
    dialect,
    baseUrl: 'https://host.test',
    model: 'm',
  }))
  const bytes = sluice.ServingRecord.encode({ routes: serving }).finish()
  const canaries = decodeServing(bytes, { open: () => undefined }).get('m')
  assert.deepEqual(
    canaries?.map(({ route }) => route.provider.id),
    ['openai'],
  )
})
