import { inspect } from 'node:util'
import { leftOpen, replaceEnvironment } from '../processState.ts'
import { logTo } from './logTo.ts'
import type { FromWarm, RunProgram } from './warmMessages.ts'

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
 * @param leave lets others have what they find by the id of this process
 */
export function serveRuns(
  begin: (logFile: string, onEnd: (status: number) => void) => WarmRun,
  leave: () => void = () => undefined,
): void {
  let run: WarmRun | undefined
  let isReady = false
  const ended = async (status: number): Promise<void> => {
    run = undefined
    // A program that has failed, or has left something open, takes the process with it, as its own would go.
    if (status !== 0 || !isReady || !process.connected || !(await isClean())) process.exit(status)
    leave()
    tell({ idle: true })
  }
  process.on('message', async (message: RunProgram) => {
    replaceEnvironment(message.environment)
    logTo(message.logFile)
    isReady = false
    try {
      run = begin(message.logFile, (status) => void ended(status))
    } catch (error) {
      process.stderr.write(`${inspect(error)}\n`)
      process.exit(1)
    }
    const ready = await run.start()
    if (ready === undefined) return
    isReady = true
    tell({ ready })
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

/** Whether what was run in this process has left nothing open. */
export async function isClean(): Promise<boolean> {
  return (await leftOpen(OWN_RESOURCES, CLOSE_WAIT_MS, CLOSE_POLL_MS)).length === 0
}
