import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { LoadReport } from '../../../control/load/report.ts'
import { startStack } from '../../support/stack.ts'

const MODELS = [
  { id: 'test/stream', upstream: 'stream,chunks=8' },
  { id: 'test/failing', upstream: 'failing,cut=3' },
]

test('what a load test saw is what the book has', async (t) => {
  const stack = await startStack({ catalog: { models: MODELS }, limits: { loadStallMs: 60_000 } })
  t.after(() => stack.finish())
  const { accountId, apiKey } = await stack.createAccount()
  const load = async (...args: readonly string[]): Promise<LoadReport> => {
    const base = ['load', stack.baseUrl, '--key', apiKey, '--connections', '4']
    const { json, stderr } = await stack.cli(...base, ...args)
    assert.ok(json !== undefined, stderr)
    return json as LoadReport
  }
  const runs = [
    await load('--model', 'test/stream', '--stream', '--requests', '60', '--max-tokens', '20'),
    await load('--model', 'test/stream', '--rate', '50', '--seconds', '1', '--prompt-tokens', '100'),
    await load('--model', 'test/failing', '--stream', '--requests', '10'),
  ]
  const [streams, whole, cut] = runs.flatMap(({ gateways }) => gateways)
  assert.deepEqual(streams?.findings, [])
  assert.deepEqual(whole?.findings, [])
  assert.deepEqual([streams?.good, whole?.good, cut?.good], [60, 50, 0])
  assert.deepEqual(
    cut?.findings.map(({ name, count }) => [name, count]),
    [['cut_streams', 10]],
  )
  assert.deepEqual(
    runs.map(({ ok }) => ok),
    [true, true, false],
  )
  await stack.settled()
  const { json: usage } = await stack.cli('account', 'usage', accountId)
  const { data } = usage as { data: { requests: number; cost: { units: string } }[] }
  const seen = [streams, whole, cut].map((report) => report?.receipts)
  assert.equal(
    data.reduce((sum, { requests }) => sum + requests, 0),
    seen.reduce((sum, one) => sum + (one?.seen ?? 0), 0),
  )
  assert.equal(
    data.reduce((sum, { cost }) => sum + BigInt(cost.units), 0n),
    seen.reduce((sum, one) => sum + BigInt(one?.charged_units ?? 0), 0n),
  )
  assert.deepEqual(
    seen.map((one) => one?.compared_with_book),
    [60, 50, 10],
  )
})
