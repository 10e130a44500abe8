import type { ChildProcess } from 'node:child_process'
import { fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import type { LoadReply } from './load/main.ts'
import type { LoadOptions, LoadResult } from './load/options.ts'

const START_TIMEOUT_MS = 10_000
const STOP_TIMEOUT_MS = 5_000

/** A process of the benchmark's own that announces itself over IPC. */
export interface Child {
  readonly process: ChildProcess
  readonly pid: number
  /** The values that it announced. */
  readonly ready: Record<string, number>
  stop(): Promise<void>
}

/**
 * Starts a compiled program next to this one.
 * @param env variables in addition to the environment of this process
 * @throws Error when it exits or stays silent
 */
export async function startChild(
  program: string,
  args: readonly string[],
  env: NodeJS.ProcessEnv = {},
): Promise<Child> {
  const path = fileURLToPath(new URL(program, import.meta.url))
  const child = fork(path, args, { env: { ...process.env, ...env }, stdio: ['ignore', 'ignore', 'inherit', 'ipc'] })
  const ready = await new Promise<Record<string, number>>((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error(`${program} is not ready`)), START_TIMEOUT_MS)
    child.once('message', (message: { ready?: Record<string, number> }) => {
      clearTimeout(timer)
      resolve(message.ready ?? {})
    })
    child.once('exit', (code) => reject(new Error(`${program} ended with status ${code}`)))
  })
  return { process: child, pid: child.pid ?? 0, ready, stop: () => stop(child) }
}

/** Runs one set of options in the load process. */
export function loadOnce(load: Child, options: LoadOptions): Promise<LoadResult> {
  return new Promise((resolve, reject) => {
    const ended = () => reject(new Error('the load generator ended'))
    load.process.once('exit', ended)
    load.process.once('message', (reply: LoadReply) => {
      load.process.removeListener('exit', ended)
      if ('error' in reply) reject(new Error(reply.error))
      else resolve(reply.result)
    })
    load.process.send(options)
  })
}

function stop(child: ChildProcess): Promise<void> {
  return new Promise((resolve) => {
    if (child.exitCode !== null || child.signalCode !== null) return resolve()
    const timer = setTimeout(() => child.kill('SIGKILL'), STOP_TIMEOUT_MS)
    child.once('exit', () => {
      clearTimeout(timer)
      resolve()
    })
    child.kill('SIGTERM')
  })
}
