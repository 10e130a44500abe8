import assert from 'node:assert/strict'
import { test } from 'node:test'
import { clientAddress } from '../../../../proxy/access/clientAddress.ts'
import type { Exchange } from '../../../../proxy/server/exchange.ts'

const PEER = '10.0.0.9'
const CASES: [what: string, forwardedFor: string, trusted: number, address: string][] = [
  ['without trusted proxies the header is ignored', '203.0.113.7', 0, PEER],
  ['one trusted proxy has added the last entry', '198.51.100.1, 203.0.113.7', 1, '203.0.113.7'],
  ['of two, the first one has added the last but one', '198.51.100.1, 203.0.113.7, 10.0.0.1', 2, '203.0.113.7'],
  ['earlier entries can be forged', '1.2.3.4, 198.51.100.1, 203.0.113.7, 10.0.0.1', 2, '203.0.113.7'],
  ['with fewer entries than proxies, the peer counts', '203.0.113.7', 2, PEER],
  ['an entry that is no address is not taken', 'unknown', 1, PEER],
  ['an address with a port is not taken', '203.0.113.7:80', 1, PEER],
  ['IPv6 is taken', ' 2001:db8::1 ', 1, '2001:db8::1'],
  ['without the header, the peer counts', '', 1, PEER],
]
for (const [what, forwardedFor, trusted, address] of CASES) {
  test(what, () => {
    const exchange = { head: { forwardedFor }, remoteAddress: () => PEER } as unknown as Exchange
    assert.equal(clientAddress(exchange, trusted), address)
  })
}
