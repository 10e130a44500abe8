import assert from 'node:assert/strict'
import { test } from 'node:test'
import { feedListener } from '../../../../proxy/bus/feedListener.ts'

test('each event renews its subject, a gap renews all', () => {
  const done: string[] = []
  const renewable = (name: string) => ({ renew: () => void done.push(name) })
  const keys = { drop: (hash: string) => void done.push(hash), clear: () => void done.push('keys') }
  const listener = feedListener({ keys, catalog: renewable('catalog'), incidents: renewable('incidents') })
  listener.onKeyChanged('hash')
  listener.onCatalogPublished()
  listener.onStatusChanged()
  listener.onGap()
  assert.deepEqual(done, ['hash', 'catalog', 'incidents', 'keys', 'catalog', 'incidents'])
})
