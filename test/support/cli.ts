import { type ChildProcess, fork, spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { compiled } from '../../control/launch/paths.ts'
import type { CliAnswer } from './cliServer.ts'

export interface CliResult {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
  /** stdout parsed, or undefined when it is not JSON. */
  readonly json: unknown
}

/** Runs the operator's command line as a process. */
export async function runCli(args: readonly string[], env: NodeJS.ProcessEnv): Promise<CliResult> {
  const child = spawn(process.execPath, [compiled('control/cli.js'), ...args], {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const [[code], stdout, stderr] = await Promise.all([once(child, 'close'), text(child.stdout), text(child.stderr)])
  return { code, stdout, stderr, json: parse(stdout) }
}

/** The operator's command line in a process that runs one command after the other. */
export class CliProcess {
  private readonly env: NodeJS.ProcessEnv
  private readonly waiting = new Map<number, (result: CliResult) => void>()
  private child: ChildProcess | undefined
  private calls = 0

  constructor(env: NodeJS.ProcessEnv) {
    this.env = env
  }

  /** Starts the process, which takes a second, before it is needed. */
  start(): ChildProcess {
    this.child ??= this.fork()
    return this.child
  }

  run(args: readonly string[]): Promise<CliResult> {
    const id = this.calls++
    this.start().send({ id, args })
    return new Promise((resolve) => this.waiting.set(id, resolve))
  }

  async stop(): Promise<void> {
    const child = this.child
    this.child = undefined
    if (child === undefined || child.exitCode !== null) return
    child.disconnect()
    await once(child, 'exit')
  }

  private fork(): ChildProcess {
    const child = fork(compiled('test/support/cliServer.js'), { env: { ...process.env, ...this.env }, execArgv: [] })
    child.on('message', ({ id, code, stdout, stderr }: CliAnswer) => {
      this.waiting.get(id)?.({ code, stdout, stderr, json: parse(stdout) })
      this.waiting.delete(id)
    })
    child.on('exit', (code) => {
      for (const resolve of this.waiting.values()) resolve({ code, stdout: '', stderr: 'it died', json: undefined })
      this.waiting.clear()
    })
    return child
  }
}

function parse(output: string): unknown {
  try {
    return JSON.parse(output)
  } catch {
    return undefined
  }
}
