import { Piscina } from 'piscina'
import { Turns } from './turns.ts'

/**
 * The tasks that worker threads do, by the name of their file in this folder. Each file exports its task as `run`; only
 * types are imported here, so that no code of a task is loaded outside of its thread.
 */
export interface Tasks {
  readonly countTokens: typeof import('./countTokens.ts').run
  readonly verifyPayments: typeof import('./verifyPayments.ts').run
}
export type TaskName = keyof Tasks

/** Bounds of a pool. Threads start with the first task and end after an idle time. */
export interface PoolBounds {
  readonly threadsMax: number
  /** Tasks that wait for a thread. */
  readonly queueMax: number
  /** Given to a task from its start in the queue; a thread that takes longer is ended. */
  readonly taskTimeoutMs: number
  readonly idleTimeoutMs: number
  /** How much the threads yield to others of the machine, as nice does; absent is 0. */
  readonly niceIncrement?: number
  /** Called when a thread fails while it has no task; another takes its place with the next one. */
  readonly onFault: (error: Error) => void
}

/** Too many tasks wait; nothing was done. */
export class PoolBusy extends Error {
  override readonly name = 'PoolBusy'
}

/** Worker threads for work that would block the event loop. Work that must not wait for other work takes its own pool. */
export class WorkerPool {
  private readonly bounds: PoolBounds
  private readonly threads: Piscina
  private readonly turns: Turns

  constructor(bounds: PoolBounds) {
    this.bounds = bounds
    this.turns = new Turns(bounds.threadsMax, bounds.queueMax)
    this.threads = new Piscina({
      minThreads: 0,
      maxThreads: bounds.threadsMax,
      idleTimeout: bounds.idleTimeoutMs,
      niceIncrement: bounds.niceIncrement ?? 0,
      // Threads that are asleep in a blocking wait cannot be unref'd and would keep a process from ending.
      atomics: 'disabled',
    })
    // Without a listener, this event would end the process.
    this.threads.on('error', bounds.onFault)
  }

  /** Threads at most; batches are split so that all can work. */
  get threadsMax(): number {
    return this.bounds.threadsMax
  }

  /**
   * Runs a task in a thread.
   * @param name as runFile has it
   * @throws PoolBusy when too many wait; Error when the task fails or takes too long
   */
  run<Name extends TaskName>(
    task: Name,
    input: Parameters<Tasks[Name]>[0],
    name = '',
  ): Promise<Awaited<ReturnType<Tasks[Name]>>> {
    return this.runFile(taskFile(task), input, name)
  }

  /**
   * Runs a task that another folder defines.
   * @param file the module that exports the task as `run`
   * @param name of the one whose turn it takes; waiting tasks are run by names in turn
   * @throws as `run`
   */
  async runFile<Input, Output>(file: string, input: Input, name = ''): Promise<Output> {
    const { queueMax, taskTimeoutMs } = this.bounds
    const signal = AbortSignal.timeout(taskTimeoutMs)
    const isPlaced = await this.turns.take(name, signal)
    if (!isPlaced && !signal.aborted) throw new PoolBusy(`${queueMax} tasks wait for a worker thread`)
    try {
      // A task whose time was over while it waited is rejected as one is that runs for too long.
      return (await this.threads.run(input, { filename: file, name: 'run', signal })) as Output
    } finally {
      if (isPlaced) this.turns.giveBack()
    }
  }

  /** Ends all threads; their running tasks fail. */
  close(): Promise<void> {
    return this.threads.destroy()
  }
}

function taskFile(name: TaskName): string {
  return new URL(`./${name}.js`, import.meta.url).href
}
