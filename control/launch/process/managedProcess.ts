import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, createWriteStream, openSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { finished } from 'node:stream/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import type { LaunchLimits } from '../limits.ts'
import { lastLines, logLength } from './logFile.ts'

const PROBE_INTERVAL_MS = 50
const KILL_TIMEOUT_MS = 5_000
const LOG_TIMEOUT_MS = 1_000

/** A user and group that a server runs as in place of root. */
export interface RunAs {
  readonly uid: number
  readonly gid: number
}

export interface ProcessDefinition {
  /** For messages. */
  readonly name: string
  readonly command: string
  readonly args: readonly string[]
  /** The whole environment; nothing is inherited from this process. */
  readonly env: NodeJS.ProcessEnv
  readonly cwd?: string
  readonly runAs?: RunAs | undefined
  /** Takes stdout and stderr. */
  readonly logFile: string
  /** Also shown every line of stdout and stderr. */
  readonly onLine?: ((line: string) => void) | undefined
  /** Whether the process answers. Without it, readiness is an IPC message `{ ready: {...} }`. */
  readonly probe?: () => Promise<boolean>
  readonly stopSignal: NodeJS.Signals
  /** After this long without an end, SIGKILL. */
  readonly stopTimeoutMs: number
  /** Lets this process end while that one runs; it is stopped then. */
  readonly unref?: boolean
  readonly limits: LaunchLimits
}

const alive = new Map<ChildProcess, NodeJS.Signals>()

// The last resort when this process exits without having stopped its children.
process.on('exit', () => {
  for (const [child, signal] of alive) child.kill(signal)
})

/**
 * One process that this one starts, watches and stops. It leads its own session, so that a Ctrl-C at the terminal
 * reaches only the starter, which then stops everything in order.
 */
export class ManagedProcess {
  readonly definition: ProcessDefinition
  /** The values that the process announced over IPC, such as its port. */
  ready: Readonly<Record<string, number>> = {}
  /** Called when the process exits without a stop request. */
  onUnexpectedExit: ((reason: string) => void) | undefined
  /** How the process ended last. */
  lastExit: { code: number | null; signal: NodeJS.Signals | null } | undefined
  private child: ChildProcess | undefined
  private ending = false
  private logWritten: Promise<unknown> = Promise.resolve()

  constructor(definition: ProcessDefinition) {
    this.definition = definition
  }

  get pid(): number | undefined {
    return this.child?.pid
  }

  get running(): boolean {
    return this.child !== undefined
  }

  /**
   * Starts the process and waits until it is ready.
   * @param changes environment variables for this start
   * @throws Error with the end of its log when it exits first or takes longer than limits.startTimeoutMs
   */
  async start(changes: NodeJS.ProcessEnv = {}): Promise<void> {
    const { name, probe, logFile } = this.definition
    if (this.child !== undefined) throw new Error(`${name} is running already`)
    const logged = logLength(logFile)
    const child = this.spawn(changes)
    this.child = child
    this.ending = false
    const ended = new AbortController()
    let reason = ''
    let ready = false
    const onEnd = (why: string) => {
      if (this.child !== child) return
      reason = why
      this.child = undefined
      alive.delete(child)
      ended.abort()
      if (!this.ending && ready) this.onUnexpectedExit?.(why)
    }
    child.once('error', (error) => onEnd(error.message))
    child.once('exit', (code, signal) => {
      this.lastExit = { code, signal }
      onEnd(signal ?? `exit code ${code}`)
    })
    const isReady = await (probe === undefined
      ? this.announced(child, ended.signal)
      : poll(probe, ended.signal, this.definition.limits))
    if (isReady && this.child === child) {
      ready = true
      if (this.definition.unref === true) child.unref()
      return
    }
    const isLate = reason === ''
    if (isLate) await this.kill9()
    await Promise.race([this.logWritten, sleep(LOG_TIMEOUT_MS, undefined, { ref: false })])
    const what = isLate
      ? `was not ready after ${this.definition.limits.startTimeoutMs} ms`
      : `did not start (${reason})`
    throw new Error(`${name} ${what}:\n${lastLines(logFile, logged)}`)
  }

  /** Asks the process to stop; kills it when it does not in time. Safe to call again and when it does not run. */
  async stop(): Promise<void> {
    const child = this.child
    if (child === undefined) return
    this.ending = true
    child.kill(this.definition.stopSignal)
    if (await endedWithin(child, this.definition.stopTimeoutMs)) return
    await this.kill9()
  }

  /** Ends the process as a crash would. */
  async kill9(): Promise<void> {
    const child = this.child
    if (child === undefined) return
    this.ending = true
    child.kill('SIGKILL')
    await endedWithin(child, KILL_TIMEOUT_MS)
  }

  /** Ends the process immediately, together with its children. */
  async cut(): Promise<void> {
    const child = this.child
    if (child?.pid === undefined) return
    this.ending = true
    try {
      process.kill(-child.pid, 'SIGKILL')
    } catch {
      // It has just ended by itself.
    }
    await endedWithin(child, KILL_TIMEOUT_MS)
  }

  private spawn(changes: NodeJS.ProcessEnv): ChildProcess {
    const { command, args, env, cwd, runAs, logFile, onLine, probe } = this.definition
    const log = openSync(logFile, 'a')
    const output = onLine === undefined ? log : 'pipe'
    const child = spawn(command, args, {
      ...(cwd !== undefined && { cwd }),
      ...runAs,
      env: { ...env, ...changes },
      detached: true,
      stdio: ['ignore', output, output, ...(probe === undefined ? ['ipc' as const] : [])],
    })
    closeSync(log)
    if (child.pid !== undefined) alive.set(child, this.definition.stopSignal)
    if (onLine !== undefined) this.logWritten = copyOutput(child, logFile, onLine)
    return child
  }

  private async announced(child: ChildProcess, ended: AbortSignal): Promise<boolean> {
    const signal = AbortSignal.any([ended, AbortSignal.timeout(this.definition.limits.startTimeoutMs)])
    try {
      for (;;) {
        const [message] = await once(child, 'message', { signal })
        const ready = readyOf(message)
        if (ready === undefined) continue
        this.ready = ready
        return true
      }
    } catch {
      return false
    }
  }
}

function readyOf(message: unknown): Record<string, number> | undefined {
  if (typeof message !== 'object' || message === null || !('ready' in message)) return undefined
  return message.ready as Record<string, number>
}

async function poll(probe: () => Promise<boolean>, ended: AbortSignal, limits: LaunchLimits): Promise<boolean> {
  const deadlineMs = Date.now() + limits.startTimeoutMs
  while (!ended.aborted && Date.now() < deadlineMs) {
    if (await probe()) return true
    await sleep(PROBE_INTERVAL_MS)
  }
  return false
}

async function endedWithin(child: ChildProcess, timeoutMs: number): Promise<boolean> {
  if (child.exitCode !== null || child.signalCode !== null) return true
  return once(child, 'exit', { signal: AbortSignal.timeout(timeoutMs) }).then(
    () => true,
    () => false,
  )
}

/** @returns when everything that the process wrote is in its log */
function copyOutput(child: ChildProcess, logFile: string, onLine: (line: string) => void): Promise<unknown> {
  const log = createWriteStream(logFile, { flags: 'a' })
  for (const stream of [child.stdout, child.stderr]) {
    if (stream === null) continue
    stream.pipe(log, { end: false })
    createInterface({ input: stream }).on('line', onLine)
  }
  child.once('close', () => log.end())
  return finished(log).catch(() => undefined)
}
