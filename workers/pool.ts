import { Piscina } from 'piscina'

/**
 * The tasks that worker threads do, by the name of their file in this folder. Each file exports its task as `run`; the
 * types alone are imported here, so that nothing of a task is loaded outside of its thread.
 */
export interface Tasks {
  readonly countTokens: typeof import('./countTokens.ts').run
}
export type TaskName = keyof Tasks

/** What a pool may take. Threads start with the first task and end after a quiet time. */
export interface PoolBounds {
  readonly threadsMax: number
  /** Tasks that wait for a thread. */
  readonly queueMax: number
  /** Given to a task from its start in the queue; a thread that takes longer is ended. */
  readonly taskTimeoutMs: number
  readonly idleTimeoutMs: number
}

/** As many tasks wait as may wait; nothing was done. */
export class PoolBusy extends Error {
  override readonly name = 'PoolBusy'
}

/** Worker threads for what would hold up the event loop. Kinds of work that must not wait for each other take a pool each. */
export class WorkerPool {
  private readonly bounds: PoolBounds
  private readonly threads: Piscina

  constructor(bounds: PoolBounds) {
    this.bounds = bounds
    this.threads = new Piscina({
      minThreads: 0,
      maxThreads: bounds.threadsMax,
      maxQueue: bounds.queueMax,
      idleTimeout: bounds.idleTimeoutMs,
      // Threads that are asleep in a blocking wait cannot be unref'd and would keep a process from ending.
      atomics: 'disabled',
    })
  }

  /**
   * Has a task done by a thread.
   * @throws PoolBusy when too many wait; Error when the task fails or takes too long
   */
  async run<Name extends TaskName>(
    name: Name,
    input: Parameters<Tasks[Name]>[0],
  ): Promise<Awaited<ReturnType<Tasks[Name]>>> {
    const { queueMax, taskTimeoutMs } = this.bounds
    if (this.threads.queueSize >= queueMax) throw new PoolBusy(`${queueMax} tasks wait for a worker thread`)
    return this.threads.run(input, {
      filename: new URL(`./${name}.js`, import.meta.url).href,
      name: 'run',
      signal: AbortSignal.timeout(taskTimeoutMs),
    })
  }

  /** Ends all threads; what they were doing fails. */
  close(): Promise<void> {
    return this.threads.destroy()
  }
}
