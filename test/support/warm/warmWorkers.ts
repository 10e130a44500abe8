import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { type StartWorker, WORKER_FLAGS, type WorkerEvents } from '../../../proxy/supervisor/forkWorker.ts'
import type { WorkerToMain } from '../../../proxy/supervisor/workerMessages.ts'

const HOST_FILE = fileURLToPath(new URL('./workerHost.js', import.meta.url))

/** Processes that have run a worker and can run the next. */
const idle = new Set<ChildProcess>()

/** What starts workers in processes that have run others. @param logFile of the proxy, which its workers share */
export function warmWorkers(logFile: string): StartWorker {
  return (environment, events) => {
    const child = take(environment)
    const run = follow(child, events)
    child.send({ environment, logFile }, () => undefined)
    return {
      pid: child.pid,
      send: (message) => {
        if (run.isGoing && child.connected) child.send(message, () => undefined)
      },
      kill9: () => void child.kill('SIGKILL'),
    }
  }
}

/** Ends those that wait, but for so many. Resolves when they have ended. */
export async function endIdleWorkers(kept: number): Promise<void> {
  const ended = [...idle].slice(kept).map((child) => {
    child.kill('SIGKILL')
    return once(child, 'exit')
  })
  await Promise.all(ended)
}

/** Passes on what a worker says, until it ends: its process may go on. */
function follow(child: ChildProcess, events: WorkerEvents): { isGoing: boolean } {
  const run = { isGoing: true }
  let isReady = false
  const end = (code: number | null, signal: string | null): void => {
    run.isGoing = false
    child.off('message', heard).off('exit', end)
    events.onExit(code, signal)
  }
  const heard = (message: WorkerToMain | { readonly idle: true }): void => {
    if (!('idle' in message)) {
      if ('ready' in message) isReady = true
      events.onMessage(message)
      return
    }
    end(0, null)
    // What a start that was interrupted has left is unknown.
    if (isReady) giveBack(child)
    else child.kill('SIGKILL')
  }
  child.on('message', heard).on('exit', end)
  return run
}

function take(environment: NodeJS.ProcessEnv): ChildProcess {
  const [known] = idle
  const child = known ?? newChild(environment)
  idle.delete(child)
  child.ref()
  child.channel?.ref()
  return child
}

function giveBack(child: ChildProcess): void {
  child.unref()
  child.channel?.unref()
  idle.add(child)
}

/** @param environment of its first run: what native code reads of it stays */
function newChild(environment: NodeJS.ProcessEnv): ChildProcess {
  const execArgv = [...process.execArgv, ...WORKER_FLAGS]
  const child = fork(HOST_FILE, { env: environment, execArgv, stdio: ['ignore', 2, 2, 'ipc'] })
  child.on('exit', () => void idle.delete(child))
  return child
}
