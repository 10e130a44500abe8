// A worker of the proxy in a process that runs one after the other: the module that composes a worker is loaded anew for
// each of them, and what it imports is loaded once.
import type { EventEmitter } from 'node:events'
import { inspect } from 'node:util'
import type { MainToWorker } from '../../../proxy/supervisor/workerMessages.ts'
import { replaceEnvironment } from '../processState.ts'
import { leaveJournals } from './leaveJournals.ts'
import { logTo } from './logTo.ts'
import { isClean } from './warmHost.ts'
import type { FromWarm, RunProgram } from './warmMessages.ts'

type Worker = typeof import('../../../proxy/worker.ts')

/** Those that a worker listens to. */
const EVENTS = ['message', 'disconnect', 'SIGTERM', 'SIGINT', 'SIGHUP'] as const
const exit: (status: number) => never = process.exit.bind(process)
const events: EventEmitter = process
let runs = 0
let worker: Worker | undefined
/** Messages to a worker that is being loaded. */
let early: MainToWorker[] | undefined

async function run({ environment, logFile }: RunProgram): Promise<void> {
  replaceEnvironment(environment)
  logTo(logFile)
  early = []
  try {
    worker = (await import(`../../../proxy/worker.js?run=${++runs}`)) as Worker
  } catch (error) {
    process.stderr.write(`${inspect(error)}\n`)
    exit(1)
  }
  const waiting = early
  early = undefined
  for (const message of waiting) events.emit('message', message)
}

async function ended(status: number): Promise<void> {
  const ending = worker
  // A worker that has failed, or has left something open, takes the process with it, as its own would go.
  if (status !== 0 || ending === undefined || !process.connected) exit(status)
  for (const event of EVENTS) {
    for (const listener of events.listeners(event)) {
      if (!own.has(listener)) events.off(event, listener as () => void)
    }
  }
  worker = undefined
  await ending.release()
  if (!(await isClean()) || !process.connected) exit(0)
  leaveJournals()
  const message: FromWarm = { idle: true }
  process.send?.(message)
}

process.exit = ((status = 0) => void ended(Number(status))) as typeof process.exit
process.on('message', (message: RunProgram | MainToWorker) => {
  if ('environment' in message) void run(message)
  else early?.push(message)
})
process.on('disconnect', () => {
  if (worker === undefined) exit(0)
})
const own: ReadonlySet<unknown> = new Set(EVENTS.flatMap((event) => events.listeners(event)))
