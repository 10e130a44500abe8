// The operator's command line for one stack, in a process that stays: starting Node.js anew for each of the hundreds of
// commands of a test run takes longer than the commands. A run of the tests hands these processes from stack to stack
// (cliPool.ts). test/integration/operations/cli-*.test.ts run some commands as processes of their own.
import { main } from '../../control/cli/main.ts'
import { type Limits, readLimits } from '../../control/limits.ts'
import { createPool, type Pool } from '../../control/runtime/db/pool.ts'
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

/**
 * The connections of the stack whose commands run, kept between them: a new connection costs PostgreSQL more than
 * the statements of most commands.
 */
class KeptDatabases {
  private readonly kept = new Map<string, { readonly pool: Pool; readonly end: () => Promise<void> }>()

  /** A pool that outlives the command that ends it. */
  readonly open = (url: string, limits: Limits): Pool =>
    this.kept.get(url)?.pool ?? this.keep(url, createPool(url, limits))

  async end(): Promise<void> {
    const ends = [...this.kept.values()].map(({ end }) => end())
    this.kept.clear()
    await Promise.all(ends)
  }

  private keep(url: string, pool: Pool): Pool {
    this.kept.set(url, { pool, end: pool.end.bind(pool) })
    pool.end = async () => {}
    return pool
  }
}

const databases = new KeptDatabases()
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
  const code = await main(args, readLimits(process.env['SLUICE_LIMITS']), databases.open)
  const answer: CliAnswer = { id, code, ...output }
  process.send?.(answer)
}

async function use({ env }: CliEnvironment): Promise<void> {
  await databases.end()
  for (const name of Object.keys(process.env)) delete process.env[name]
  Object.assign(process.env, env)
}

process.on('message', (message: CliCall | CliEnvironment) => {
  last = last.then(() => ('env' in message ? use(message) : run(message)))
})
process.on('disconnect', () => process.exit(0))
