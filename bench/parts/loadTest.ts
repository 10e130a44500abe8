import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { compiled } from '../../control/launch/paths.ts'
import type { LoadReport } from '../../control/load/report.ts'
import { caseNamed, paced, SMALL } from '../cases.ts'
import type { LoadTestResult } from '../results.ts'
import type { Settings } from '../settings.ts'
import { modelOf, sluiceMeasured, type World } from '../targets/world.ts'

const CLI = compiled('control/cli.js')
const OUTPUT_BYTES_MAX = 67_108_864
const STREAMS = 100
const FLAGS = ['--max-tokens', '1000', '--yes', '--json']
/** A stream of the paced case takes two seconds. */
const STREAM_SECONDS = 8
const QUICK_STREAM_SECONDS = 3
/** Far below what a core carries, so that the times are those of the gateway and not of a queue. */
const RATE = 500

/**
 * Measures what users can measure themselves: `sluice load` at a constant rate and with paced streams, through Sluice and at the
 * provider by turns.
 * @throws Error when an answer, a frame or a receipt was wrong
 */
export async function measureLoadTests(
  settings: Settings,
  { stack, runner, measured }: World,
): Promise<LoadTestResult[]> {
  const direct = measured.find(({ name }) => name === 'direct')
  if (stack === undefined || direct === undefined) return []
  const sluice = sluiceMeasured(stack, stack.proxy)
  const seconds = settings.quick ? QUICK_STREAM_SECONDS : STREAM_SECONDS
  const loads = [
    { title: `small answers, ${RATE} a second`, kind: caseNamed(SMALL), pace: ['--rate', String(RATE)] },
    {
      title: `${STREAMS} streams of 100 chunks, one every 20 ms`,
      kind: caseNamed(paced(STREAMS)),
      pace: ['--stream', '--connections', String(STREAMS)],
    },
  ]
  const results: LoadTestResult[] = []
  for (const { title, kind, pace } of loads) {
    await runner.rest()
    const between = ['--model', modelOf(kind, sluice), '--against-model', modelOf(kind, direct)]
    const urls = [urlOf(sluice.target), '--against', urlOf(direct.target)]
    const args = ['load', ...urls, ...between, ...pace, '--seconds', String(seconds), ...FLAGS]
    const [through, without] = await load(args, stack.apiKey)
    if (through === undefined || without === undefined) throw new Error(`${title}: two gateways were to be compared`)
    runner.count(stack, through.requests)
    results.push({ title, sluice: through, direct: without })
  }
  return results
}

const urlOf = ({ host, port }: { readonly host: string; readonly port: number }): string => `http://${host}:${port}`

async function load(args: readonly string[], key: string): Promise<LoadReport['gateways']> {
  const env = { ...process.env, SLUICE_KEY: key }
  const { stdout } = await promisify(execFile)(process.execPath, [CLI, ...args], { env, maxBuffer: OUTPUT_BYTES_MAX })
  return (JSON.parse(stdout) as LoadReport).gateways
}
