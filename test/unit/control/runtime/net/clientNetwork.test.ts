import assert from 'node:assert/strict'
import test from 'node:test'
import { clientNetwork } from '../../../../../control/runtime/net/clientNetwork.ts'

test('clients are told apart by their IPv4 address or the /64 of their IPv6 address', () => {
  for (const [address, network] of [
    ['203.0.113.7', '203.0.113.7'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
    ['2001:0DB8:0001:0002:ffff::1', '2001:db8:1:2::/64'],
    ['2001:db8::1', '2001:db8:0:0::/64'],
    ['::1', '0:0:0:0::/64'],
    ['::', '0:0:0:0::/64'],
    ['1::', '1:0:0:0::/64'],
    ['fe80::1:2:3:4%eth0', 'fe80:0:0:0::/64'],
    ['::ffff:203.0.113.7', '203.0.113.7'],
    ['0000:0000:0000:0000:0000:ffff:cb00:7107', '203.0.113.7'],
    ['', ''],
    ['example.com', ''],
    ['1.2.3', ''],
  ] as const) {
    assert.equal(clientNetwork(address), network, address)
  }
})
