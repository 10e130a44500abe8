// Goal: no address of a special-purpose network is taken for one of the public internet, in no form and no spelling.
// Method: the registries of IANA as ranges of integers, written down here a second time, against what the checks say.
import assert from 'node:assert/strict'
import test from 'node:test'
import fc from 'fast-check'
import {
  clientNetwork,
  isLoopbackHost,
  isPublicAddress,
  isUnspecifiedAddress,
  withoutBrackets,
} from '../../../../contract/net/ipAddress.ts'
import { mayBePublicHost } from '../../../../contract/net/publicUrl.ts'
import { HostError, resolveHost } from '../../../../contract/net/resolveHost.ts'

/** https://www.iana.org/assignments/iana-ipv4-special-registry, every row, and multicast. */
const IPV4_ROWS = `
  0.0.0.0/8 0.0.0.0/32 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24 192.0.0.0/29
  192.0.0.8/32 192.0.0.9/32 192.0.0.10/32 192.0.0.170/32 192.0.0.171/32 192.0.2.0/24 192.31.196.0/24 192.52.193.0/24
  192.88.99.0/24 192.88.99.2/32 192.168.0.0/16 192.175.48.0/24 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 240.0.0.0/4
  255.255.255.255/32 224.0.0.0/4`
/** https://www.iana.org/assignments/iana-ipv6-special-registry, every row, and multicast, site-local, IPv4-compatible. */
const IPV6_ROWS = `
  ::1/128 ::/128 ::ffff:0:0/96 64:ff9b::/96 64:ff9b:1::/48 100::/64 100:0:0:1::/64 2001::/23 2001::/32 2001:1::1/128
  2001:1::2/128 2001:1::3/128 2001:2::/48 2001:3::/32 2001:4:112::/48 2001:10::/28 2001:20::/28 2001:30::/28
  2001:db8::/32 2002::/16 2620:4f:8000::/48 3fff::/20 5f00::/16 fc00::/7 fe80::/10 ff00::/8 fec0::/10 ::/96`

interface Range {
  readonly first: bigint
  readonly last: bigint
}

const groupsOf = (text: string): bigint[] => (text === '' ? [] : text.split(':').map((group) => BigInt(`0x${group}`)))

function integerOf(address: string): bigint {
  if (!address.includes(':')) return address.split('.').reduce((sum, byte) => sum * 256n + BigInt(byte), 0n)
  const [front = [], back = []] = address.split('::').map(groupsOf)
  const zeros = Array<bigint>(8 - front.length - back.length).fill(0n)
  return front.concat(zeros, back).reduce((sum, group) => sum * 65_536n + group, 0n)
}

function rangesOf(rows: string, bits: number): Range[] {
  return rows
    .trim()
    .split(/\s+/)
    .map((row) => {
      const [address = '', prefix = ''] = row.split('/')
      const first = integerOf(address)
      return { first, last: first + (1n << BigInt(bits - Number(prefix))) - 1n }
    })
}

const SPECIAL_IPV4 = rangesOf(IPV4_ROWS, 32)
const SPECIAL_IPV6 = rangesOf(IPV6_ROWS, 128)
const [GLOBAL_IPV6] = rangesOf('2000::/3', 128)

const isWithin = (value: bigint, { first, last }: Range): boolean => value >= first && value <= last
const isSpecial = (value: bigint, ranges: readonly Range[]): boolean => ranges.some((range) => isWithin(value, range))

const within = (ranges: readonly Range[]): fc.Arbitrary<bigint> =>
  fc
    .constantFrom(...ranges)
    .chain(({ first, last }) => fc.oneof(fc.constantFrom(first, last), fc.bigInt({ min: first, max: last })))
/** Any address, with the ends of the ranges and their neighbours often. */
const anyOf = (ranges: readonly Range[], bits: number): fc.Arbitrary<bigint> => {
  const max = (1n << BigInt(bits)) - 1n
  const edges = ranges.flatMap(({ first, last }) => [first - 1n, first, last, last + 1n])
  const inside = edges.filter((value) => value >= 0n && value <= max)
  return fc.oneof(fc.constantFrom(...inside), fc.bigInt({ min: 0n, max }))
}

const ipv4Text = (value: bigint): string => [24n, 16n, 8n, 0n].map((shift) => (value >> shift) & 255n).join('.')
const groupTexts = (value: bigint): string[] =>
  Array.from({ length: 8 }, (_, i) => ((value >> BigInt(112 - 16 * i)) & 65_535n).toString(16))
/** Full, with leading zeros, in capitals, shortened. */
const ipv6Spellings = (value: bigint): string[] => {
  const groups = groupTexts(value)
  const full = groups.map((group) => group.padStart(4, '0'))
  const short = withoutBrackets(new URL(`http://[${groups.join(':')}]`).hostname)
  return [groups.join(':'), full.join(':'), full.join(':').toUpperCase(), short]
}

/** How the parser of URLs lets an IPv4 address be written. */
function ipv4Spellings(value: bigint): string[] {
  const bytes = [24n, 16n, 8n, 0n].map((shift) => (value >> shift) & 255n)
  const radix = (number: bigint, kind: string): string =>
    kind === 'hex' ? `0x${number.toString(16)}` : kind === 'octal' ? `0${number.toString(8)}` : String(number)
  const kinds = ['decimal', 'octal', 'hex']
  return kinds.flatMap((kind) => [
    bytes.map((byte) => radix(byte, kind)).join('.'),
    radix(value, kind),
    `${radix(value >> 24n, kind)}.${radix(value & 0xffffffn, kind)}`,
    `${radix(value >> 24n, kind)}.${radix((value >> 16n) & 255n, kind)}.${radix(value & 0xffffn, kind)}`,
    `${bytes.map((byte, i) => radix(byte, kinds[i % 3] ?? kind)).join('.')}.`,
  ])
}

/** IPv6 addresses that lead to an IPv4 one. */
function embeddings(value: bigint, filler: bigint): bigint[] {
  const nat64 = integerOf('64:ff9b::')
  return [
    value, // compatible
    integerOf('::ffff:0:0') + value, // mapped
    integerOf('::ffff:0:0:0') + value, // translated
    nat64 + value,
    integerOf('64:ff9b:1::') + ((filler & 0xffffffffffffn) << 32n) + value,
    integerOf('2002::') + (value << 80n) + (filler & ((1n << 80n) - 1n)), // 6to4
    integerOf('2001::') + (value << 64n) + (filler & ((1n << 64n) - 1n)), // Teredo, the server
    integerOf('2001::') + ((filler & 0xffffffffffffffffn) << 32n) + (value ^ 0xffffffffn), // Teredo, the client
  ]
}

const isRefused = async (hostname: string): Promise<boolean> => {
  try {
    await resolveHost(hostname, { allowPrivate: false, signal: new AbortController().signal })
    return false
  } catch (error) {
    return error instanceof HostError && error.fault === 'not_public'
  }
}

test('an IPv4 address is public exactly if no row of the registry contains it', () => {
  fc.assert(
    fc.property(anyOf(SPECIAL_IPV4, 32), (value) => {
      assert.equal(isPublicAddress(ipv4Text(value)), !isSpecial(value, SPECIAL_IPV4), ipv4Text(value))
    }),
    { numRuns: 2_000 },
  )
})

test('an IPv6 address is public exactly if it is allocated for the internet and listed in no row of the registry', () => {
  fc.assert(
    fc.property(anyOf(SPECIAL_IPV6, 128), (value) => {
      const isPublic = GLOBAL_IPV6 !== undefined && isWithin(value, GLOBAL_IPV6) && !isSpecial(value, SPECIAL_IPV6)
      for (const text of ipv6Spellings(value)) assert.equal(isPublicAddress(text), isPublic, text)
    }),
    { numRuns: 2_000 },
  )
})

test('a special address is rejected in every notation of a URL', async () => {
  await fc.assert(
    fc.asyncProperty(within(SPECIAL_IPV4), within(SPECIAL_IPV6), async (four, six) => {
      const hosts = ipv4Spellings(four).concat(ipv6Spellings(six).map((text) => `[${text}]`))
      for (const host of hosts) {
        const url = new URL(`https://${host}/x`)
        assert.equal(mayBePublicHost(url), false, host)
        assert.equal(await isRefused(url.hostname), true, host)
      }
    }),
    { numRuns: 300 },
  )
})

test('an IPv6 address that embeds any IPv4 address is rejected', async () => {
  const any = fc.bigInt({ min: 0n, max: 0xffffffffn })
  const filler = fc.bigInt({ min: 0n, max: (1n << 80n) - 1n })
  await fc.assert(
    fc.asyncProperty(fc.oneof(any, within(SPECIAL_IPV4)), filler, async (four, rest) => {
      const dotted = [`::ffff:${ipv4Text(four)}`, `::${ipv4Text(four)}`, `64:ff9b::${ipv4Text(four)}`]
      const texts = embeddings(four, rest).flatMap(ipv6Spellings).concat(dotted)
      for (const text of texts) {
        assert.equal(isPublicAddress(text), false, text)
        assert.equal(await isRefused(new URL(`http://[${text}]/`).hostname), true, text)
      }
    }),
    { numRuns: 300 },
  )
})

test('a loopback host is recognized by name and address, and only in canonical notation', () => {
  for (const host of ['localhost', 'LocalHost', '127.0.0.1', '127.255.0.9', '::1', '[::1]', '0:0:0:0:0:0:0:1']) {
    assert.equal(isLoopbackHost(host), true, host)
  }
  const others = [
    '',
    'localhost.',
    'a.localhost',
    '127.1',
    '2130706433',
    '128.0.0.1',
    '::',
    '::ffff:127.0.0.1',
    '0.0.0.0',
  ]
  for (const host of others) assert.equal(isLoopbackHost(host), false, host)
  for (const address of ['0.0.0.0', '::', '0:0::0']) assert.equal(isUnspecifiedAddress(address), true, address)
  for (const address of ['', '127.0.0.1', '::1', 'localhost'])
    assert.equal(isUnspecifiedAddress(address), false, address)
})

test('clients are distinguished by their IPv4 address or the /64 of their IPv6 address', () => {
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
