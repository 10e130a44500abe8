import assert from 'node:assert/strict'
import { test } from 'node:test'
import { TlsSessions } from '../../../../../../proxy/upstream/h1/wire/tlsSessions.ts'

const bounds = { tlsSessionsMax: 2, tlsSessionBytesMax: 100, tlsSessionAgeMs: 1_000 }
const HOST = 'one.example:443'
const session = Buffer.alloc(100)

test('a session is valid as long as its initial verification, and no longer than the certificate', () => {
  const sessions = new TlsSessions(bounds)
  assert.equal(sessions.provenUntilMs(5_000, 9_000), 6_000)
  assert.equal(sessions.provenUntilMs(5_000, 5_500), 5_500)
  sessions.keep(HOST, session, 6_000)
  assert.deepEqual(sessions.take(HOST, 5_999), { session, untilMs: 6_000 })
  assert.equal(sessions.take(HOST, 6_000), undefined)
  assert.equal(sessions.take(HOST, 5_999), undefined)
})

test('only the latest session is stored', () => {
  const sessions = new TlsSessions(bounds)
  sessions.keep(HOST, session, 6_000)
  const later = Buffer.alloc(7)
  sessions.keep(HOST, later, 5_000)
  assert.deepEqual(sessions.take(HOST, 0), { session: later, untilMs: 5_000 })
})

test('a session that is too large, or of a certificate without an expiry, is not stored', () => {
  const sessions = new TlsSessions(bounds)
  sessions.keep(HOST, Buffer.alloc(101), 6_000)
  sessions.keep(HOST, session, sessions.provenUntilMs(5_000, Number.NaN))
  assert.equal(sessions.take(HOST, 0), undefined)
})

test('a session whose connection failed is dropped, but not a newer one', () => {
  const sessions = new TlsSessions(bounds)
  sessions.keep(HOST, session, 6_000)
  const first = sessions.take(HOST, 0)
  assert.ok(first !== undefined)
  sessions.keep(HOST, Buffer.alloc(7), 6_000)
  sessions.drop(HOST, first)
  const second = sessions.take(HOST, 0)
  assert.ok(second !== undefined)
  sessions.drop(HOST, second)
  assert.equal(sessions.take(HOST, 0), undefined)
})

test('sessions of different addresses are stored separately, up to a bound', () => {
  const sessions = new TlsSessions(bounds)
  for (const address of ['a:1', 'a:2', 'a:1', 'b:1']) sessions.keep(address, Buffer.from(address), 6_000)
  const found = ['a:1', 'a:2', 'b:1'].map((address) => sessions.take(address, 0)?.session.toString())
  assert.deepEqual(found, ['a:1', undefined, 'b:1'])
})
