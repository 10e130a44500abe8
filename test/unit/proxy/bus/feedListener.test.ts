import assert from 'node:assert/strict'
import { test } from 'node:test'
import { feedListener } from '../../../../proxy/bus/feedListener.ts'

test('each event renews its subject, a gap renews all', () => {
  const done: string[] = []
  const renewable = (name: string) => ({ renew: () => void done.push(name) })
  const keys = { drop: (hash: string) => void done.push(hash), clear: () => void done.push('keys') }
  const kept = { drop: (hash: string) => void done.push(`kept ${hash}`) }
  const listener = feedListener({ keys, kept, catalog: renewable('catalog'), incidents: renewable('incidents') })
  listener.onKeyChanged('hash', true)
  listener.onKeyChanged('other', false)
  listener.onCatalogPublished()
  listener.onStatusChanged()
  listener.onGap()
  assert.deepEqual(done, ['hash', 'other', 'kept other', 'catalog', 'incidents', 'keys', 'catalog', 'incidents'])
})
