import assert from 'node:assert/strict'
import test from 'node:test'
import { formatDay, parseDay, parseMonth, parseTime } from '../../../../../contract/api/time.ts'
import { isOwnOrigin } from '../../../../../control/identity/sessions/ownOrigin.ts'

test('without a configured origin only loopback is accepted', () => {
  for (const [domain, uri] of [
    ['127.0.0.1:8080', 'http://127.0.0.1:8080/login'],
    ['localhost', 'http://localhost'],
    ['localhost:3000', 'https://localhost:3000'],
  ] as const) {
    assert.ok(isOwnOrigin(undefined, domain, uri), domain)
  }
  for (const [domain, uri] of [
    ['gateway.example.com', 'https://gateway.example.com'],
    ['localhost.evil.example', 'http://localhost.evil.example'],
    ['localhost', 'http://localhost:3000'],
    ['localhost', 'ftp://localhost'],
    ['localhost@evil.example', 'http://evil.example'],
    ['', ''],
  ] as const) {
    assert.ok(!isOwnOrigin(undefined, domain, uri), domain)
  }
})

test('with a configured origin no other one is accepted, not even loopback', () => {
  const own = new URL('https://gateway.example.com/base')
  assert.ok(isOwnOrigin(own, 'gateway.example.com', 'https://gateway.example.com/x'))
  assert.ok(isOwnOrigin(own, 'gateway.example.com:443', 'https://gateway.example.com'))
  for (const [domain, uri] of [
    ['gateway.example.com', 'http://gateway.example.com'],
    ['gateway.example.com', 'https://evil.example'],
    ['evil.example', 'https://gateway.example.com'],
    ['gateway.example.com:8443', 'https://gateway.example.com:8443'],
    ['localhost', 'http://localhost'],
    ['user@gateway.example.com', 'https://evil.example'],
  ] as const) {
    assert.ok(!isOwnOrigin(own, domain, uri), `${domain} ${uri}`)
  }
})

test('times, days and months follow the calendar', () => {
  assert.equal(parseTime('2027-01-31T12:00:00Z'), Date.UTC(2027, 0, 31, 12))
  assert.equal(parseTime('2027-01-31T12:00:00.5+01:00'), Date.UTC(2027, 0, 31, 11, 0, 0, 500))
  const none = ['2027-01-31', 'tomorrow', '2027-13-01T00:00:00Z', '2027-02-29T00:00:00Z', '2027-01-31T24:00:00Z', '']
  for (const text of none) assert.equal(parseTime(text), undefined)
  assert.equal(parseTime('2028-02-29T00:00:00Z'), Date.UTC(2028, 1, 29))
  assert.equal(formatDay(parseDay('2028-02-29') ?? 0), '2028-02-29')
  for (const text of ['2027-02-29', '2027-00-10', '27-01-01', '2027-1-1']) assert.equal(parseDay(text), undefined)
  assert.deepEqual(parseMonth('2027-12'), { startMs: Date.UTC(2027, 11, 1), endMs: Date.UTC(2028, 0, 1) })
  for (const text of ['2027-13', '2027-00', '1969-12', '2027-1', '2027-01-01'])
    assert.equal(parseMonth(text), undefined)
})
