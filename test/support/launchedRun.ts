import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { compiled } from '../../control/launch/paths.ts'
import { processOf } from '../../control/launch/process/leftover.ts'
import { patientLimits } from './limits.ts'
import { until } from './stack.ts'

const START_TIMEOUT_MS = 180_000

export interface Run {
  readonly child: ChildProcess
  readonly output: () => string
}

/** Runs what `make run` runs, in a folder without a catalog and with its data there. */
export function launch(dir: string, port: number, env: NodeJS.ProcessEnv = {}): Run {
  const unset = { DATABASE_URL: '', REDIS_URL: '', SLUICE_CATALOG: '', SLUICE_METRICS_PORT: '', SLUICE_DATA: '' }
  const { SLUICE_LIMITS: limits = patientLimits() } = env
  const child = spawn(process.execPath, [compiled('control/launch/main.js')], {
    cwd: dir,
    env: { ...process.env, ...unset, PORT: String(port), ...env, SLUICE_LIMITS: limits },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', (data) => (output += data))
  return { child, output: () => output }
}

/** Waits until it serves. */
export async function running(run: Run): Promise<void> {
  const ready = () => run.output().includes('Sluice is running') || run.child.exitCode !== null
  await until('Sluice is running', ready, START_TIMEOUT_MS)
  assert.equal(run.child.exitCode, null, run.output())
}

/** Ctrl-C twice, as it arrives from a terminal through npm. */
export async function interrupt(run: Run): Promise<void> {
  const ended = once(run.child, 'exit')
  run.child.kill('SIGINT')
  run.child.kill('SIGINT')
  assert.deepEqual(await ended, [0, null], run.output())
}

/** What a run tells of its demo in demo.json. */
export interface Demo {
  readonly base_url: string
  readonly api_key: string
  readonly account_id: string
  readonly models: string[]
  readonly metrics_url: string
  readonly control_metrics_url: string
}

/** Servers of the run that still live, by the files that name them. */
export function leftovers(dir: string): number[] {
  return [
    processOf(join(dir, '.sluice/redis/redis.pid'), /(redis|valkey)-server/),
    processOf(join(dir, '.sluice/postgres/postmaster.pid'), /postgres/),
    processOf(join(dir, '.sluice/chain/anvil.pid'), /anvil/),
  ].filter((pid) => pid !== undefined)
}

/** Reads demo.json of the run in `dir`, which only its owner may read. */
export function readDemo(dir: string): Demo {
  const path = join(dir, '.sluice/demo.json')
  assert.equal(statSync(path).mode & 0o077, 0, 'the key is for its owner alone')
  return JSON.parse(readFileSync(path, 'utf8'))
}
