import assert from 'node:assert/strict'
import test from 'node:test'
import { fingerprintOf } from '../../../../control/api/idempotency.ts'

const of = (text: string, path = '/v1/x', query = '') => fingerprintOf('POST', path, query, JSON.parse(text) as object)

test('bodies with the same JSON value have the same fingerprint', () => {
  const text = '{"name":"é","caps":{"hour":"1","day":null},"requests_per_minute":100,"models":["a","b"]}'
  for (const same of [
    '{ "models": [ "a", "b" ],\n"requests_per_minute": 1e2, "caps": { "day": null, "hour": "1" }, "name": "\\u00e9" }',
    text.replace('100', '100.0'),
  ]) {
    assert.equal(of(same), of(text), same)
  }
})

test('any other difference changes the fingerprint', () => {
  const text = '{"amount":"1","list":["a","b"],"n":1}'
  const fingerprints = [
    of(text),
    of(text, '/v1/y'),
    of(text, '/v1/x', 'a=1'),
    of(text.replace('"1"', '"1.0"')),
    of(text.replace('"a","b"', '"b","a"')),
    of(text.replace('"n":1', '"n":"1"')),
    of(text.replace('"n":1', '"n":null')),
    of('{}'),
  ]
  assert.equal(new Set(fingerprints).size, fingerprints.length)
})
