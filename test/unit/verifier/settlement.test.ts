// Goal: a batch is read from what a node answers in one way only, and whatever else there is, is refused with a reason.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { encodeAbiParameters, encodeEventTopics, parseAbiParameters } from 'viem'
import { ANCHOR_ABI } from '../../../control/products/settlements/anchorContract.ts'
import { Failed } from '../../../verifier/failed.ts'
import { readBatch } from '../../../verifier/settlement.ts'

const CONTRACT = `0x${'AB'.repeat(20)}`
const DATA = parseAbiParameters('uint64, uint64, uint64, bytes32, bytes32, uint128, uint128, uint128')

function answer(number: bigint, size: bigint, changes: object = {}): Record<string, unknown> {
  const [root, statement] = [`0x${'01'.repeat(32)}`, `0x${'02'.repeat(32)}`] as const
  const log = {
    address: CONTRACT.toLowerCase(),
    topics: encodeEventTopics({ abi: ANCHOR_ABI, eventName: 'Anchored', args: { number } }),
    data: encodeAbiParameters(DATA, [size, 3n, 5n, root, statement, 7n, 2n ** 128n - 1n, 9n]),
    ...changes,
  }
  return { status: '0x1', blockNumber: '0x10', logs: [{ ...log, address: `0x${'cd'.repeat(20)}` }, log] }
}

test('an event encoded by viem is read, as a response and as a receipt', () => {
  const limit = { max: BigInt(Number.MAX_SAFE_INTEGER) }
  fc.assert(
    fc.property(fc.bigInt({ min: 1n, ...limit }), fc.bigInt({ min: 1n, ...limit }), (number, size) => {
      const receipt = answer(number, size)
      const batch = readBatch(receipt, CONTRACT)
      assert.deepEqual(batch, readBatch({ jsonrpc: '2.0', id: 1, result: receipt }, CONTRACT))
      assert.deepEqual([batch.number, BigInt(batch.size), batch.block], [number, size, 16])
      assert.deepEqual([batch.receiptsFrom, batch.receiptsTo, batch.chargedUnits], [3n, 5n, 7n])
      assert.deepEqual([batch.heldUnits, batch.owedUnits], [2n ** 128n - 1n, 9n])
      assert.deepEqual([batch.root[0], batch.statement[31]], [1, 2])
    }),
  )
})

test('a log that is not one batch of this contract is rejected', () => {
  const good = answer(1n, 4n)
  const [, log] = good['logs'] as object[]
  for (const [json, contract] of [
    [good, undefined],
    [good, '0x12'],
    [good, `0x${'ef'.repeat(20)}`],
    [{ ...good, status: '0x0' }, CONTRACT],
    [{ ...good, blockNumber: '16' }, CONTRACT],
    [{ ...good, logs: [] }, CONTRACT],
    [{ ...good, logs: [log, log] }, CONTRACT],
    [{ jsonrpc: '2.0', id: 1, result: null }, CONTRACT],
    [answer(1n, 4n, { data: '0x' }), CONTRACT],
    [answer(1n, 2n ** 60n), CONTRACT],
    [answer(1n, 4n, { topics: [encodeEventTopics({ abi: ANCHOR_ABI, eventName: 'Anchored' })[0]] }), CONTRACT],
    [answer(1n, 4n, { topics: [] }), CONTRACT],
  ] as const) {
    assert.throws(() => readBatch(json, contract), Failed)
  }
})

test('any malformed response of a node fails with a reason, never with another error', () => {
  fc.assert(
    fc.property(fc.jsonValue(), (json) => {
      assert.throws(() => readBatch(json, CONTRACT), Failed)
    }),
  )
})
