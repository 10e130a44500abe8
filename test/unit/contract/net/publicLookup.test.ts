import assert from 'node:assert/strict'
import type { LookupAddress } from 'node:dns'
import { test } from 'node:test'
import { isForbiddenHost, publicLookup } from '../../../../contract/net/publicLookup.ts'

const lookedUp = (addresses: LookupAddress[]) =>
  new Promise<string>((resolve) => {
    const lookup = publicLookup(async () => addresses)
    lookup('provider.example', { all: true }, (error, found) => {
      resolve(error === null ? (found as LookupAddress[]).map(({ address }) => address).join() : error.message)
    })
  })

test('a name is connected to only if all its addresses are public', async () => {
  const open = { address: '93.184.216.34', family: 4 }
  assert.equal(await lookedUp([open]), '93.184.216.34')
  for (const address of ['127.0.0.1', '10.0.0.1', '169.254.169.254']) {
    assert.equal(await lookedUp([open, { address, family: 4 }]), 'provider.example: not_public')
  }
  assert.equal(await lookedUp([]), 'provider.example: not_found')
})

test('a literal address is also rejected, since no name is looked up for it', () => {
  for (const host of ['127.0.0.1', '[::1]', '[::ffff:10.0.0.1]', '192.168.0.1']) assert.ok(isForbiddenHost(host), host)
  for (const host of ['93.184.216.34', 'provider.example', '[2606:4700::1111]']) assert.ok(!isForbiddenHost(host), host)
})
