// The operator's command line for one stack, in a process that stays: starting Node.js anew for each of the hundreds of
// commands of a test run takes longer than the commands. A run of the tests hands these processes from stack to stack
// (cliPool.ts). test/integration/operations/cli-*.test.ts run some commands as processes of their own.
import { main } from '../../control/cli/main.ts'
import { readLimits } from '../../control/limits.ts'
import './lockWatch.ts'

/** One command, run after those before it. */
export interface CliCall {
  readonly id: number
  readonly args: readonly string[]
}

/** Replaces the environment for the calls that follow. */
export interface CliEnvironment {
  readonly env: Readonly<Record<string, string>>
}

export interface CliAnswer {
  readonly id: number
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

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
  const code = await main(args, readLimits(process.env['SLUICE_LIMITS']))
  const answer: CliAnswer = { id, code, ...output }
  process.send?.(answer)
}

function use({ env }: CliEnvironment): void {
  for (const name of Object.keys(process.env)) delete process.env[name]
  Object.assign(process.env, env)
}

process.on('message', (message: CliCall | CliEnvironment) => {
  last = last.then(() => ('env' in message ? use(message) : run(message)))
})
process.on('disconnect', () => process.exit(0))
