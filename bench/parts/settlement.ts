import { spawn } from 'node:child_process'
import { compiled } from '../../control/launch/paths.ts'
import type { SettlementResult } from '../results.ts'
import type { Settings } from '../settings.ts'

const RUNS = 3
const RECEIPTS = 100_000
const QUICK_RECEIPTS = 10_000
const ACCOUNTS = 1_000

/** Measures booking into PostgreSQL, each run in a process with its own servers. */
export async function measureSettlement(settings: Settings): Promise<SettlementResult> {
  const receipts = settings.quick ? QUICK_RECEIPTS : RECEIPTS
  const runs: SettlementResult['runs'] = []
  for (let i = 0; i < (settings.quick ? 1 : RUNS); i++)
    runs.push(await runSettlement(compiled('bench/settlement.js'), receipts))
  return { runs }
}

/**
 * Books receipts once, in a process with its own servers.
 * @param program the compiled bench/settlement.ts of a build
 */
export function runSettlement(program: string, receipts: number): Promise<SettlementResult['runs'][number]> {
  return new Promise((resolve, reject) => {
    const args = [program, String(receipts), String(ACCOUNTS), '--json']
    const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
    let output = ''
    child.stdout.on('data', (part: Buffer) => {
      output += part.toString()
    })
    child.on('error', reject)
    child.on('close', (code) => {
      if (code === 0) resolve(JSON.parse(output) as SettlementResult['runs'][number])
      else reject(new Error(`the measurement of settlement ended with status ${code}`))
    })
  })
}
