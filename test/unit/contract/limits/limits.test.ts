import assert from 'node:assert/strict'
import test from 'node:test'
import { CONTRACT_LIMITS, type PartName, readPart } from '../../../../contract/limits/limits.ts'
import { CONTROL_LIMITS, readLimits as readControlLimits } from '../../../../control/limits.ts'
import { PROXY_LIMITS, readLimits as readProxyLimits } from '../../../../proxy/limits.ts'
import { limitsText } from '../../../support/limits.ts'

const TABLES = [CONTRACT_LIMITS, PROXY_LIMITS, CONTROL_LIMITS]
const READERS = { proxy: readProxyLimits, control: readControlLimits }

test('without changes the defaults apply, all positive integers', () => {
  for (const read of Object.values(READERS)) {
    const limits = read(undefined)
    assert.deepEqual(read(''), limits)
    for (const [name, value] of Object.entries(limits)) {
      assert.ok(Number.isSafeInteger(value) && value > 0, name)
    }
  }
})

test('each limit is in exactly one table', () => {
  const names = TABLES.flatMap((table) => Object.keys(table))
  assert.equal(new Set(names).size, names.length)
})

test('single values can be changed: shared ones everywhere, those of a process only in that process', () => {
  const text = '{"drainGraceMs": 2000, "proxy": {"breakerFailures": 9}, "control": {"batchPollMs": 7}}'
  const [proxy, control] = [readProxyLimits(text), readControlLimits(text)]
  assert.deepEqual([proxy.drainGraceMs, proxy.breakerFailures], [2000, 9])
  assert.deepEqual([control.drainGraceMs, control.batchPollMs], [2000, 7])
  assert.equal(proxy.imagesMax, CONTRACT_LIMITS.imagesMax)
  assert.deepEqual(readProxyLimits(limitsText({ drainGraceMs: 2000, breakerFailures: 9, batchPollMs: 7 })), proxy)
})

test('invalid changes are named', () => {
  for (const [part, own] of [
    ['proxy', 'breakerFailures'],
    ['control', 'batchPollMs'],
  ] as const) {
    const read = READERS[part]
    assert.throws(() => read('{"drainGrace": 1}'), /unknown limit: drainGrace$/)
    assert.throws(() => read('{"__proto__": 1}'), /unknown limit/)
    assert.throws(() => read('{"toString": 1}'), /unknown limit/)
    // A limit of one part stands below its name, and there are no others there.
    assert.throws(() => read(`{"${own}": 1}`), /unknown limit/)
    for (const name of ['drainGraceMs', 'nope', 'toString']) {
      assert.throws(() => read(`{"${part}": {"${name}": 1}}`), new RegExp(`unknown limit: ${part}.${name}$`))
    }
    for (const value of ['0', '-1', '1.5', '"5"', 'null', '1e300', 'true']) {
      assert.throws(() => read(`{"drainGraceMs": ${value}}`), /drainGraceMs must be a positive integer/, value)
      assert.throws(() => read(`{"${part}": {"${own}": ${value}}}`), /must be a positive integer/, value)
    }
    for (const text of ['[]', '1', 'null', '"x"']) {
      assert.throws(() => read(text), /SLUICE_LIMITS must be a JSON object/, text)
      assert.throws(() => read(`{"${part}": ${text}}`), /must be a JSON object/, text)
    }
    assert.throws(() => read('{'), /SLUICE_LIMITS is not valid JSON/)
  }
})

test('a process ignores the limits of another part', () => {
  const defaults = { ...CONTRACT_LIMITS }
  const read = (part: PartName, text: string) => readPart(part, defaults, text)
  assert.deepEqual(read('proxy', '{"control": {"nope": 0}}'), defaults)
  assert.deepEqual(read('control', '{"proxy": "nonsense"}'), defaults)
})

test('an owner counts as dead only after several missed heartbeats', () => {
  const { heartbeatIntervalMs, heartbeatTimeoutMs } = CONTRACT_LIMITS
  assert.ok(heartbeatTimeoutMs >= 5 * heartbeatIntervalMs)
})

test('single holds of a dead process outlast its leases while its journal is awaited, and end before they are too old', () => {
  const { heartbeatTimeoutMs, orphanVoidMs, holdAgeMaxMs } = CONTRACT_LIMITS
  assert.ok(orphanVoidMs > heartbeatTimeoutMs && orphanVoidMs <= holdAgeMaxMs)
})
