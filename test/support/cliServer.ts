// The operator's command line for one stack, in a process that stays: starting Node.js anew for each of the hundreds of
// commands of a test run takes longer than the commands. test/integration/operations/cli-*.test.ts run some as processes of
// their own.
import { main } from '../../control/cli/main.ts'
import { readLimits } from '../../control/limits.ts'

export interface CliCall {
  readonly id: number
  readonly args: readonly string[]
}

export interface CliAnswer {
  readonly id: number
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

const limits = readLimits(process.env['SLUICE_LIMITS'])
let output = { stdout: '', stderr: '' }
let last: Promise<void> = Promise.resolve()

for (const stream of ['stdout', 'stderr'] as const) {
  process[stream].write = (text: string | Uint8Array): boolean => {
    output[stream] += typeof text === 'string' ? text : Buffer.from(text).toString()
    return true
  }
}

async function run({ id, args }: CliCall): Promise<void> {
  output = { stdout: '', stderr: '' }
  const code = await main(args, limits)
  const answer: CliAnswer = { id, code, ...output }
  process.send?.(answer)
}

process.on('message', (call: CliCall) => {
  last = last.then(() => run(call))
})
process.on('disconnect', () => process.exit(0))
