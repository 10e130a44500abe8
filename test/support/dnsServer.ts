import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { isIPv4 } from 'node:net'

const HEADER_BYTES = 12
const [A, IN] = [1, 1]
/** A response to a standard query, recursion wanted and available: RFC 1035, 4.1.1. */
const ANSWERED = 0x8180

export interface DnsServer {
  /** As `Resolver.setServers` takes it. */
  readonly address: string
  /** Names that were asked for, an A and an AAAA query each. */
  readonly asked: string[]
  close(): void
}

/**
 * A DNS server on the loopback address (RFC 1035, over UDP) whose answers are never kept.
 * @param addressesOf the addresses of a name, asked anew at each A and AAAA query
 */
export async function startDnsServer(
  addressesOf: (name: string, family: 4 | 6) => readonly string[],
): Promise<DnsServer> {
  const socket = createSocket('udp4')
  const asked: string[] = []
  socket.on('message', (query, { port, address }) => {
    const { name, type, end } = question(query)
    asked.push(name)
    const found = addressesOf(name, type === A ? 4 : 6)
    socket.send(response(query.subarray(0, end), type, found), port, address)
  })
  socket.bind(0, '127.0.0.1')
  await once(socket, 'listening')
  return { address: `127.0.0.1:${socket.address().port}`, asked, close: () => socket.close() }
}

function question(query: Buffer): { name: string; type: number; end: number } {
  const labels: string[] = []
  let at = HEADER_BYTES
  for (let length = query[at] ?? 0; length > 0; length = query[at] ?? 0) {
    labels.push(query.toString('latin1', at + 1, at + 1 + length))
    at += 1 + length
  }
  return { name: labels.join('.'), type: query.readUInt16BE(at + 1), end: at + 5 }
}

function response(query: Buffer, type: number, addresses: readonly string[]): Buffer {
  const head = Buffer.from(query)
  head.writeUInt16BE(ANSWERED, 2)
  head.writeUInt16BE(addresses.length, 6)
  head.fill(0, 8, HEADER_BYTES)
  return Buffer.concat([head, ...addresses.map((address) => record(type, bytesOf(address)))])
}

/** A resource record that names its owner by a pointer to the question. */
function record(type: number, data: Buffer): Buffer {
  const head = Buffer.alloc(12)
  head.writeUInt16BE(0xc00c, 0)
  head.writeUInt16BE(type, 2)
  head.writeUInt16BE(IN, 4)
  head.writeUInt16BE(data.length, 10)
  return Buffer.concat([head, data])
}

/** IPv6 addresses without "::", as the tests write them. */
function bytesOf(address: string): Buffer {
  if (isIPv4(address)) return Buffer.from(address.split('.').map(Number))
  return Buffer.from(
    address
      .split(':')
      .map((group) => group.padStart(4, '0'))
      .join(''),
    'hex',
  )
}
