import assert from 'node:assert/strict'
import type { LookupAddress } from 'node:dns'
import { createServer } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import test from 'node:test'
import fc from 'fast-check'
import { isPublicAddress } from '../../../../contract/net/ipAddress.ts'
import { HostError, pinnedLookup, resolveHost } from '../../../../contract/net/resolveHost.ts'

/** The first and the last address of each network that is not the public internet, and its public neighbours. */
const SPECIAL = `
  0.0.0.0 0.255.255.255 10.0.0.0 10.255.255.255 100.64.0.0 100.127.255.255 127.0.0.1 127.255.255.255 169.254.0.0
  169.254.169.254 169.254.255.255 172.16.0.0 172.31.255.255 192.0.0.0 192.0.0.255 192.0.2.1 192.88.99.1 192.168.0.0
  192.168.255.255 198.18.0.0 198.19.255.255 198.51.100.1 203.0.113.1 224.0.0.1 239.255.255.255 240.0.0.1 255.255.255.255
  :: ::1 ::7f00:1 ::ffff:127.0.0.1 ::ffff:8.8.8.8 ::ffff:7f00:1 64:ff9b::7f00:1 64:ff9b::808:808 64:ff9b:1::1 100::1
  2001::1 2001:0:7f00:1::1 2001:1ff:ffff::1 2001:db8::1 2002:7f00:1::1 2002:808:808::1 3fff::1 5f00::1 fc00::1
  fdff:ffff::1 fe80::1 fe80::1%eth0 febf::1 fec0::1 ff02::1 4000::1`
const PUBLIC = `
  1.0.0.0 9.255.255.255 11.0.0.0 100.63.255.255 100.128.0.0 126.255.255.255 128.0.0.0 169.253.255.255 169.255.0.0
  172.15.255.255 172.32.0.0 192.0.1.0 192.167.255.255 192.169.0.0 198.17.255.255 198.20.0.0 223.255.255.255 8.8.8.8
  2000::1 2001:200::1 2001:4860:4860::8888 2003::1 2606:4700:4700::1111 2a00:1450:4001:80b::200e 3ffe::1`
const words = (text: string): string[] => text.trim().split(/\s+/)

const signal = new AbortController().signal
const strict = { allowPrivate: false, signal }
const answering = (...addresses: string[]) => {
  const found = addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }))
  return { ...strict, lookup: async () => found }
}
const fails = (fault: string) => (error: unknown) => error instanceof HostError && error.fault === fault

test('special addresses are not public, their neighbours are', () => {
  for (const address of words(SPECIAL)) assert.equal(isPublicAddress(address), false, address)
  for (const address of words(PUBLIC)) assert.equal(isPublicAddress(address), true, address)
  for (const text of ['', 'localhost', '127.1', '1.2.3.4.5', '8.8.8.8 ', 'example.com']) {
    assert.equal(isPublicAddress(text), false, text)
  }
})

test('every notation of a loopback address in a URL is rejected', async () => {
  for (const host of [
    '127.0.0.1',
    '127.1',
    '0x7f000001',
    '2130706433',
    '0177.0.0.1',
    '[::1]',
    '[::ffff:127.0.0.1]',
    '0',
  ]) {
    await assert.rejects(resolveHost(new URL(`http://${host}/`).hostname, strict), fails('not_public'), host)
  }
})

test('a name with one private address among public ones is rejected', async () => {
  const bad = fc.constantFrom(...words(SPECIAL))
  const good = fc.array(fc.constantFrom(...words(PUBLIC)), { maxLength: 8 })
  await fc.assert(
    fc.asyncProperty(good, bad, good, async (before, special, after) => {
      await assert.rejects(resolveHost('a.test', answering(...before, special, ...after)), fails('not_public'))
      if (before.length === 0) return
      const found = await resolveHost('a.test', answering(...before))
      assert.deepEqual(
        found.map(({ address }) => address),
        before,
      )
    }),
  )
})

test('private addresses pass if the operator allows them', async () => {
  const found = await resolveHost('a.test', { ...answering('127.0.0.1', '8.8.8.8'), allowPrivate: true })
  assert.equal(found.length, 2)
  assert.deepEqual(await resolveHost('[::1]', { ...strict, allowPrivate: true }), [{ address: '::1', family: 6 }])
})

test('a name without an address, with too many, or that does not resolve is not found', async () => {
  await assert.rejects(resolveHost('a.test', answering()), fails('not_found'))
  await assert.rejects(resolveHost('a.test', answering(...Array<string>(33).fill('8.8.8.8'))), fails('not_found'))
  const lookup = async (): Promise<LookupAddress[]> => Promise.reject(new Error('ENOTFOUND'))
  await assert.rejects(resolveHost('a.test', { ...strict, lookup }), fails('not_found'))
})

test('a resolver that does not respond times out', async () => {
  const lookup = () => new Promise<LookupAddress[]>(() => {})
  const aborting = new AbortController()
  const resolved = resolveHost('a.test', { allowPrivate: false, signal: aborting.signal, lookup })
  aborting.abort()
  await assert.rejects(resolved, fails('timeout'))
  await assert.rejects(resolveHost('a.test', { ...strict, signal: aborting.signal, lookup }), fails('timeout'))
})

test('a connection is made to the pinned address even if its name resolves to another', async (t) => {
  const server = createServer()
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  t.after(() => server.close())
  const { port } = server.address() as AddressInfo
  for (const autoSelectFamily of [true, false]) {
    const lookup = pinnedLookup([{ address: '127.0.0.1', family: 4 }])
    const socket = connect({ host: 'nowhere.invalid', port, lookup, autoSelectFamily })
    await new Promise((connected, failed) => socket.once('connect', connected).once('error', failed))
    assert.equal(socket.remoteAddress, '127.0.0.1')
    socket.destroy()
  }
  const only6 = connect({
    host: 'nowhere.invalid',
    port,
    family: 6,
    lookup: pinnedLookup([{ address: '127.0.0.1', family: 4 }]),
  })
  const error = await new Promise((failed) => only6.once('error', failed))
  assert.ok(error instanceof HostError)
})
