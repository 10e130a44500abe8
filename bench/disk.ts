// Latency that small requests gain while another process saturates the disk, with and without fsync of the journal. For
// comparison the same process writes to memory, which shows the part of the latency that is due to its CPU time.
// node dist/bench/disk.js [rounds] [seconds of a measurement]

import { mkdtempSync, rmSync } from 'node:fs'
import { loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { loadOptions } from './bodies.ts'
import { caseNamed, LATENCY } from './cases.ts'
import { type Child, loadOnce, startChild } from './child.ts'
import type { Quantiles } from './load/samples.ts'
import { untilStopped } from './stopping.ts'
import { startProviders } from './targets/provider.ts'
import { startStack } from './targets/stack.ts'
import { modelOf, sluiceMeasured } from './targets/world.ts'

const ROUNDS = Number(process.argv[2] ?? 3)
const SECONDS = Number(process.argv[3] ?? 5)

const MEMORY = '/dev/shm'

/** One load on a stack of its own kind. */
interface Row {
  readonly sync: boolean
  /** The background load. */
  readonly beside: string
  readonly latencyMs: Quantiles
}

async function measureStack(sync: boolean, stops: (() => Promise<void>)[]): Promise<Row[]> {
  process.env['SLUICE_JOURNAL_SYNC'] = sync ? '1' : ''
  const { plain: _, tls: __, ...ports } = await startProviders(stops)
  const load = await startChild('load/main.js', [])
  stops.push(() => load.stop())
  const stack = await startStack({ ...ports, accounts: 1, keysPerAccount: 1, proxyOnly: false }, stops)
  const one = sluiceMeasured(stack, stack.proxy)
  const kind = { ...caseNamed(LATENCY), seconds: SECONDS }
  const options = loadOptions(kind, one.target, true, modelOf(kind, one))
  const rows: Row[] = []
  const measure = async (): Promise<Quantiles> => (await loadOnce(load, options)).latencyMs
  await measure()
  for (let round = 0; round < ROUNDS; round++) {
    rows.push({ sync, beside: 'nothing', latencyMs: await measure() })
    rows.push({ sync, beside: 'a writer to memory', latencyMs: await besideWriter(MEMORY, measure) })
    rows.push({ sync, beside: 'a writer to the disk', latencyMs: await besideWriter(tmpdir(), measure) })
  }
  return rows
}

/** Runs work while another process writes to a file system; the journal is on the one of tmpdir(). */
async function besideWriter<Result>(root: string, work: () => Promise<Result>): Promise<Result> {
  const folder = mkdtempSync(join(root, 'sluice-bench-writer-'))
  let writer: Child | undefined
  try {
    writer = await startChild('parts/diskWriter.js', [join(folder, 'filler')])
    return await work()
  } finally {
    await writer?.stop()
    rmSync(folder, { recursive: true, force: true })
  }
}

for (const sync of [false, true]) {
  const rows = await untilStopped((stops) => measureStack(sync, stops))
  for (const { beside, latencyMs } of rows) {
    const { count, p50, p99, p999, max } = latencyMs
    const times = [p50, p99, p999, max].map((ms) => ms.toFixed(2)).join(' / ')
    const what = `${sync ? 'fsync' : 'no fsync'}, beside ${beside}`
    console.log(`${what}: p50 / p99 / p999 / max ${times} ms of ${count}; load ${loadavg()[0]?.toFixed(1)}`)
  }
}
