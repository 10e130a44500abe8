import assert from 'node:assert/strict'
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import test from 'node:test'
import { pathToFileURL } from 'node:url'
import { compiled, projectRoot } from '../../../control/launch/paths.ts'

interface Rooms {
  findRoomFaults(readmes: Map<string, string | undefined>, owners: Record<string, string>): string[]
}

const { findRoomFaults }: Rooms = await import(pathToFileURL(join(projectRoot, 'scripts/rooms.mjs')).href)

const OWNERS = { receipts: 'book/settlement', transfers: 'book/ledger', agents: 'products/agents' }
const BOOK = '# book\n\nTables `receipts` and `transfers`, and the stream `ledger`.\n'

const faultsOf = (room: string, text: string | undefined): string[] => findRoomFaults(new Map([[room, text]]), OWNERS)

test('a room that names what it owns is right', () => {
  assert.deepEqual(faultsOf('control/book', BOOK), [])
  assert.deepEqual(faultsOf('control/products/agents', 'Owns `agents`.\n'), [])
  assert.deepEqual(faultsOf('control/products', 'Owns nothing.\n'), [])
  assert.deepEqual(faultsOf('proxy/bus', 'Owns `rpc`.\n'), [])
})

test('a room without a README.md, or with a long one, is refused', () => {
  assert.deepEqual(faultsOf('proxy/bus', undefined), ['proxy/bus has no README.md'])
  assert.deepEqual(faultsOf('proxy/bus', 'line\n'.repeat(10)), [])
  assert.deepEqual(faultsOf('proxy/bus', 'line\n'.repeat(11)), ['proxy/bus/README.md has more than 10 lines'])
})

test('a table that is missing, or that another room owns, is refused', () => {
  assert.match(faultsOf('control/book', 'Owns `receipts`.\n').join('\n'), /does not name transfers/)
  assert.match(faultsOf('control/book', `${BOOK}Also \`agents\`.\n`).join('\n'), /names agents, which it does not own/)
  assert.match(faultsOf('proxy/bus', 'Reads `receipts`.\n').join('\n'), /names receipts, which it does not own/)
})

test('what is built has no README.md of a room', () => {
  for (const part of ['proxy', 'control']) {
    assert.ok(existsSync(compiled(part)))
    const left = readdirSync(compiled(part), { recursive: true }).filter((name) => String(name).endsWith('README.md'))
    assert.deepEqual(left, [])
  }
})
