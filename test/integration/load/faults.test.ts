import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, test } from 'node:test'
import type { LoadReport, TargetReport } from '../../../control/load/report.ts'
import { type TestCertificate, TRUSTED, UNTRUSTED } from '../../support/certificates.ts'
import { CliProcess, type CliResult, runCli } from '../../support/cli.ts'
import { type LimitChanges, limitsText } from '../../support/limits.ts'
import { FaultyGateway } from '../../support/parts/faultyGateway.ts'
import { rounds } from '../../support/rounds.ts'
import { makeTempDir, removeTempDir } from '../../support/tempDir.ts'

// A machine that runs tests stands still for a while now and then; the faults are far above that.
const LIMITS: LimitChanges = { loadStallMs: 4_000, loadBendMs: 4_000, loadClimbPercent: 50, loadProgressMs: 200 }
const REQUESTS = ['--requests', '101', '--connections', '4']

const gateway = await FaultyGateway.start()
const dir = makeTempDir('load')
const commands = new CliProcess({
  DATABASE_URL: '',
  REDIS_URL: '',
  SLUICE_DATA: dir,
  SLUICE_KEY: 'sk-test',
  SLUICE_LIMITS: limitsText(LIMITS),
})

after(async () => {
  await commands.stop()
  await gateway.stop()
  removeTempDir(dir)
})

async function load(...args: readonly string[]): Promise<{ result: CliResult; report: TargetReport }> {
  const result = await commands.run(['load', gateway.baseUrl, '--json', ...args])
  const [report] = (result.json as LoadReport | undefined)?.gateways ?? []
  assert.ok(report, result.stderr)
  return { result, report }
}

const found = ({ findings }: TargetReport): Record<string, number> => {
  return Object.fromEntries(findings.map(({ name, count }) => [name, count]))
}

test('nothing is found on a clean gateway, streamed or not', async () => {
  for (const mode of [['--stream'], []]) {
    const { result, report } = await load('--model', 'clean', ...mode, ...REQUESTS, '--errors', '0.1%')
    assert.equal(result.code, 0, result.stdout)
    assert.deepEqual(found(report), {})
    assert.equal(report.good, 101)
    assert.equal(report.receipts.seen, 101)
    assert.equal(report.receipts.compared_with_book, 100)
    assert.equal(report.receipts.charged_units, String(101 * 1_900))
    assert.equal(report.total_ms.count, 101)
    assert.equal(report.between_chunks_ms.count, mode.length === 0 ? 0 : 101 * 11)
  }
})

/** By the model that asks for a fault, in two of 101 answers: what is found, and the exit status without bars. */
const ROWS: readonly [model: string, name: string, count: number, code: number, mode: string][] = [
  ['lost-frame', 'lost_frames', 2, 1, '--stream'],
  ['reordered-frame', 'reordered_frames', 2, 1, '--stream'],
  ['stall', 'stalls', 2, 0, '--stream'],
  ['wrong-receipt', 'wrong_receipts', 2, 1, '--stream'],
  ['wrong-receipt', 'wrong_receipts', 2, 1, '--yes'],
  ['no-receipt', 'missing_receipts', 2, 1, '--stream'],
  ['errors', 'errors', 2, 0, '--stream'],
  ['cut', 'cut_streams', 2, 0, '--stream'],
  ['no-done', 'cut_streams', 2, 0, '--stream'],
  ['error-event', 'cut_streams', 2, 0, '--stream'],
]

for (const [model, name, count, code, mode] of ROWS) {
  test(`${model} is found as ${name}, with ${mode}`, async () => {
    gateway.served.delete(model)
    const { result, report } = await load('--model', model, mode, ...REQUESTS)
    assert.deepEqual(found(report), { [name]: count }, result.stdout)
    assert.equal(result.code, code)
  })
}

test('a receipt that the book has otherwise is found', async () => {
  const { result, report } = await load('--model', 'wrong-book', '--stream', '--requests', '50')
  assert.deepEqual(found(report), { wrong_receipts: 1 })
  assert.match(report.findings[0]?.examples[0] ?? '', /charge in units: the receipt said 1900, the book says 1901/)
  assert.equal(result.code, 1)
})

test('errors are counted by code, and a bar decides on the exit status', async () => {
  gateway.served.delete('errors')
  const strict = await load('--model', 'errors', ...REQUESTS, '--errors', '0.1%')
  assert.deepEqual(strict.report.errors, { internal_error: 2 })
  assert.equal(strict.result.code, 1)
  gateway.served.delete('errors')
  const lax = await load('--model', 'errors', ...REQUESTS, '--errors', '10%', '--p99-total', '60s')
  assert.equal(lax.result.code, 0, lax.result.stdout)
})

test('a load test by time sends until then, to two gateways by turns', async () => {
  const args = ['--model', 'clean', '--seconds', '1', '--connections', '2', '--against', gateway.baseUrl]
  const { result, report } = await load(...args)
  assert.deepEqual(found(report), {})
  assert.ok(report.requests > 0 && report.seconds >= 1 && report.good === report.requests, result.stdout)
  assert.match(result.stderr, /comparing \d+ receipts with the book/)
})

test('a storm of errors ends the load test', async () => {
  const { result, report } = await load('--model', 'storm', '--requests', '5000')
  assert.match(report.stopped ?? '', /the server failed 50 of the last 50/)
  assert.ok(report.requests < 100)
  assert.equal(result.code, 1)
})

test('a climb ends where the latency steps up', async () => {
  const step = rounds({ short: 40, long: 800 })
  gateway.stepPerSecond = step
  const climb = ['--rate-from', String(step / 4), '--rate-to', String(step * 5), '--seconds', '2', '--yes']
  const { report } = await load('--model', 'step', '--stream', ...climb)
  assert.deepEqual(Object.keys(found(report)), ['latency_bend'])
  const carried = report.climb?.carried_rate ?? 0
  assert.ok(carried >= step / 4 && carried <= step, `it carries ${carried}`)
})

test('a climb that does not bend carries its last rate', async () => {
  const { result, report } = await load('--model', 'clean', '--rate-from', '20', '--rate-to', '30', '--seconds', '1')
  assert.deepEqual(found(report), {})
  assert.equal(report.climb?.carried_rate, 30)
  assert.equal(result.code, 0)
})

test('times of an open loop count from when a request was due', async () => {
  const args = ['--rate', '40', '--seconds', '2', '--connections', '1']
  gateway.served.delete('stall')
  const { report } = await load('--model', 'stall', '--stream', ...args)
  assert.equal(report.requests, 80)
  // One stream of 7 s holds the only connection; those that were due meanwhile have waited.
  assert.ok(report.total_ms.p50 > 300, `p50 is ${report.total_ms.p50} ms`)
})

test('the charges stay within --max-cost', async () => {
  const { result, report } = await load('--model', 'clean', '--requests', '500', '--max-cost', '0.0001')
  assert.equal(report.receipts.charged_units, String(52 * 1_900))
  assert.match(report.stopped ?? '', /--max-cost/)
  assert.equal(result.code, 1)
})

test('more than 10,000 requests need --yes', async () => {
  const result = await commands.run(['load', gateway.baseUrl, '--model', 'clean', '--requests', '10001'])
  assert.equal(result.code, 2)
  assert.match(result.stderr, /10001 requests have to be confirmed by --yes/)
})

test('a mix, many keys and two gateways by turns, with a page of plots', async () => {
  const [mix, keys, html] = ['mix.json', 'keys.txt', 'report.html'].map((name) => join(dir, name)) as [
    string,
    string,
    string,
  ]
  const kinds = [
    { model: 'mixed-a', weight: 3, stream: true },
    { model: 'mixed-b', prompt_tokens: 200, max_tokens: 9 },
  ]
  writeFileSync(mix, JSON.stringify({ kinds }))
  writeFileSync(keys, 'sk-one\nsk-two\n')
  const args = ['--mix', mix, '--keys', keys, '--requests', '40', '--against', gateway.baseUrl, '--html', html]
  const { result, report } = await load(...args)
  assert.equal(result.code, 0, result.stdout)
  assert.equal((result.json as LoadReport).gateways.length, 2)
  assert.equal(report.good, 40)
  assert.deepEqual([gateway.served.get('mixed-a'), gateway.served.get('mixed-b')], [60, 20])
  const page = readFileSync(html, 'utf8')
  assert.equal(page.match(/<svg /g)?.length, 3)
  assert.doesNotMatch(page, /<script|(src|href)=/)
})

test('a gateway over TLS is measured if its certificate is trusted, and gets no request otherwise', async () => {
  const trusted = join(dir, 'trusted.pem')
  writeFileSync(trusted, TRUSTED.cert)
  const env = { SLUICE_DATA: dir, SLUICE_KEY: 'sk-test', NODE_EXTRA_CA_CERTS: trusted }
  const rows: readonly [certificate: TestCertificate, good: number][] = [
    [TRUSTED, 20],
    [UNTRUSTED, 0],
  ]
  for (const [certificate, good] of rows) {
    const secure = await FaultyGateway.start(certificate)
    try {
      const args = ['load', secure.baseUrl, '--model', 'clean', '--stream', '--requests', '20', '--json']
      const result = await runCli(args, env)
      const [report] = (result.json as LoadReport).gateways
      assert.equal(report?.good, good, result.stdout)
      assert.deepEqual(report.errors, good > 0 ? {} : { depth_zero_self_signed_cert: 20 })
      assert.equal(secure.served.get('clean') ?? 0, good)
    } finally {
      await secure.stop()
    }
  }
})

test('a gateway that is not there fails', async () => {
  const result = await commands.run(['load', 'http://127.0.0.1:1', '--model', 'clean', '--requests', '3', '--json'])
  const [report] = (result.json as LoadReport).gateways
  assert.deepEqual(report?.errors, { econnrefused: 3 })
  assert.equal(result.code, 1)
})
