import { appendFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import type { FromWarm, RunProgram } from './warmMessages.ts'

/** Connections that are being closed need a moment. */
const CLOSE_WAIT_MS = 1_000
const CLOSE_POLL_MS = 10
/** What an idle process has: the channel to the test, and work that ends by itself in this turn. */
const OWN_RESOURCES = new Set(['Immediate', 'PipeWrap', 'Pipe', 'CloseReq', 'TickObject'])

export interface WarmRun {
  /** @returns the ports of the program; undefined where it has ended */
  start(): Promise<Readonly<Record<string, number>> | undefined>
  stop(reason: string): void
  reload(): void
}

/**
 * Lets this process run a program again and again, each time with another environment.
 * @param begin makes a run, which tells `onEnd` the status with which its program ends
 */
export function serveRuns(begin: (logFile: string, onEnd: (status: number) => void) => WarmRun): void {
  let run: WarmRun | undefined
  let logFile = '/dev/null'
  for (const stream of ['stdout', 'stderr'] as const) {
    process[stream].write = (text: string | Uint8Array): boolean => {
      appendFileSync(logFile, text)
      return true
    }
  }
  const ended = async (status: number): Promise<void> => {
    run = undefined
    // A program that has failed, or has left something open, takes the process with it, as its own would go.
    if (status !== 0 || !process.connected || !(await isClean())) process.exit(status)
    tell({ idle: true })
  }
  process.on('message', async (message: RunProgram) => {
    replaceEnvironment(message.environment)
    logFile = message.logFile
    run = begin(logFile, (status) => void ended(status))
    const ready = await run.start()
    if (ready !== undefined) tell({ ready })
  })
  const stop = (reason: string): void => (run === undefined ? process.exit(0) : run.stop(reason))
  process.on('SIGTERM', () => stop('SIGTERM'))
  process.on('SIGINT', () => stop('SIGINT'))
  process.on('disconnect', () => stop('the parent process ended'))
  process.on('SIGHUP', () => run?.reload())
}

function tell(message: FromWarm): void {
  if (process.connected) process.send?.(message)
}

function replaceEnvironment(environment: NodeJS.ProcessEnv): void {
  for (const name of Object.keys(process.env)) delete process.env[name]
  Object.assign(process.env, environment)
}

async function isClean(): Promise<boolean> {
  const deadlineMs = Date.now() + CLOSE_WAIT_MS
  while (process.getActiveResourcesInfo().some((resource) => !OWN_RESOURCES.has(resource))) {
    if (Date.now() > deadlineMs) return false
    await sleep(CLOSE_POLL_MS)
  }
  return true
}
