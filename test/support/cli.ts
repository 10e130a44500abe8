import { fork, spawn } from 'node:child_process'
import { once } from 'node:events'
import { connect } from 'node:net'
import { createInterface } from 'node:readline'
import { text } from 'node:stream/consumers'
import { compiled } from '../../control/launch/paths.ts'
import type { CliAnswer, CliCall, CliEnvironment } from './cliServer.ts'
import { TEST_FLAGS } from './nodeFlags.ts'

export interface CliResult {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
  /** stdout parsed, or undefined when it is not JSON. */
  readonly json: unknown
}

/** Runs one command in a process that has loaded the command line before, where the test run has such processes. */
export async function callCli(args: readonly string[], env: NodeJS.ProcessEnv): Promise<CliResult> {
  const commands = new CliProcess(env)
  try {
    return await commands.run(args)
  } finally {
    await commands.stop()
  }
}

/** Runs one command as a process of its own, as an operator does: for tests of what only that shows. */
export async function runCli(args: readonly string[], env: NodeJS.ProcessEnv): Promise<CliResult> {
  const child = spawn(process.execPath, [compiled('control/cli.js'), ...args], {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const [[code], stdout, stderr] = await Promise.all([once(child, 'close'), text(child.stdout), text(child.stderr)])
  return { code, stdout, stderr, json: parse(stdout) }
}

/** A process that runs commands; `close` lets it end, and waits until it has. */
interface Channel {
  send(message: CliCall | CliEnvironment): void
  close(): Promise<void>
}

/** The operator's command line in a process that runs one command after the other. */
export class CliProcess {
  private readonly env: NodeJS.ProcessEnv
  private readonly waiting = new Map<number, (result: CliResult) => void>()
  private channel: Channel | undefined
  private calls = 0

  constructor(env: NodeJS.ProcessEnv) {
    this.env = env
  }

  /** Starts the process, which takes a second, before it is needed. */
  start(): void {
    this.open()
  }

  run(args: readonly string[]): Promise<CliResult> {
    const id = this.calls++
    this.open().send({ id, args })
    return new Promise((resolve) => this.waiting.set(id, resolve))
  }

  async stop(): Promise<void> {
    const channel = this.channel
    this.channel = undefined
    await channel?.close()
  }

  private open(): Channel {
    const pool = process.env['SLUICE_TEST_CLI'] ?? ''
    // Node.js reads these variables when it starts, so a process that runs already does not take them.
    const isShared = pool !== '' && !Object.keys(this.env).some((name) => name.startsWith('NODE_'))
    this.channel ??= isShared ? this.connect(pool) : this.fork()
    return this.channel
  }

  /** One of the processes of the test run. */
  private connect(path: string): Channel {
    const socket = connect(path)
    createInterface({ input: socket }).on('line', (line) => this.answered(JSON.parse(line) as CliAnswer))
    socket.on('error', () => {}).on('close', () => this.ended(null))
    const send = (message: object): void => void socket.write(`${JSON.stringify(message)}\n`)
    send({ env: { ...process.env, ...this.env } })
    const close = async (): Promise<void> => {
      socket.end()
      if (!socket.closed) await once(socket, 'close')
    }
    return { send, close }
  }

  private fork(): Channel {
    const child = fork(compiled('test/support/cliServer.js'), {
      env: { ...process.env, ...this.env },
      execArgv: TEST_FLAGS,
    })
    child.on('message', (answer: CliAnswer) => this.answered(answer)).on('exit', (code) => this.ended(code))
    const close = async (): Promise<void> => {
      if (child.exitCode !== null) return
      child.disconnect()
      await once(child, 'exit')
    }
    return { send: (message) => void child.send(message), close }
  }

  private answered({ id, code, stdout, stderr }: CliAnswer): void {
    this.waiting.get(id)?.({ code, stdout, stderr, json: parse(stdout) })
    this.waiting.delete(id)
  }

  private ended(code: number | null): void {
    for (const resolve of this.waiting.values()) resolve({ code, stdout: '', stderr: 'it died', json: undefined })
    this.waiting.clear()
  }
}

function parse(output: string): unknown {
  try {
    return JSON.parse(output)
  } catch {
    return undefined
  }
}
