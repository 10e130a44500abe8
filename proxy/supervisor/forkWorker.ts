import { fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import type { MainToWorker, WorkerToMain } from './workerMessages.ts'

const WORKER_FILE = fileURLToPath(new URL('../worker.js', import.meta.url))
// Objects that a request allocates are dead when it ends; the more of them the young space holds, the less the
// collector copies. It has its full size from the start, because otherwise it grows late under load and shrinks afterwards.
const YOUNG_SPACE_MIB = 16

/** Flags of Node.js for workers, in addition to those of their supervisor. */
export const WORKER_FLAGS = [
  `--min-semi-space-size=${YOUNG_SPACE_MIB}`,
  `--max-semi-space-size=${YOUNG_SPACE_MIB}`,
  // So little survives a collection that more threads spend more time on each other than on copying.
  '--no-parallel-scavenge',
  // The old space may double until it is collected: it is small, and with the growth by a third that V8 chooses under load
  // it was collected every second.
  '--heap-growing-percent=100',
]

/** The process of a worker, as its supervisor reaches it. */
export interface WorkerProcess {
  readonly pid: number | undefined
  /** A process that has just ended takes no message. */
  send(message: MainToWorker): void
  /** Ends it as a crash would. */
  kill9(): void
}

/** The events of a worker that its supervisor hears. */
export interface WorkerEvents {
  onMessage(message: WorkerToMain): void
  /** The worker has ended. */
  onExit(code: number | null, signal: string | null): void
}

/** Starts a worker with this environment. */
export type StartWorker = (environment: NodeJS.ProcessEnv, events: WorkerEvents) => WorkerProcess

/** Starts a worker as a process of its own. */
export const forkWorker: StartWorker = (env, events) => {
  const execArgv = [...process.execArgv, ...WORKER_FLAGS]
  const child = fork(WORKER_FILE, [], { env, execArgv, stdio: ['ignore', 'inherit', 'inherit', 'ipc'] })
  child.on('message', (message: WorkerToMain) => events.onMessage(message))
  child.on('exit', (code, signal) => events.onExit(code, signal))
  return {
    pid: child.pid,
    send: (message) => {
      if (child.connected) child.send(message, () => undefined)
    },
    kill9: () => void child.kill('SIGKILL'),
  }
}
