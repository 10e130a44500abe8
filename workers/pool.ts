import { Piscina } from 'piscina'

export interface WorkerPoolOptions {
  readonly threadsMax: number
  /** A thread without work ends after this, so that a process that needs none has none. */
  readonly idleTimeoutMs: number
  /** Tasks that wait for a thread; one more is refused. */
  readonly queueMax: number
}

/** Threads for work that would hold up the event loop. Each task is a file of this folder that exports a function. */
export class WorkerPool {
  private readonly options: WorkerPoolOptions
  private piscina: Piscina | undefined

  constructor(options: WorkerPoolOptions) {
    this.options = options
  }

  /** Threads at most; batches are split so that all can work. */
  get threadsMax(): number {
    return this.options.threadsMax
  }

  /**
   * Runs a task on a thread.
   * @param task name of the file without its ending, and of the function that it exports
   * @param input what the function is given; it is copied
   * @throws what the function throws; an Error when the queue is full or the pool is closed
   */
  run<Input, Output>(task: string, input: Input): Promise<Output> {
    return this.started().run(input, {
      filename: new URL(`./${task}.js`, import.meta.url).href,
      name: task,
    }) as Promise<Output>
  }

  /** Ends the threads; tasks under way are lost. */
  async close(): Promise<void> {
    await this.piscina?.destroy()
    this.piscina = undefined
  }

  private started(): Piscina {
    this.piscina ??= new Piscina({
      minThreads: 0,
      maxThreads: this.options.threadsMax,
      idleTimeout: this.options.idleTimeoutMs,
      maxQueue: this.options.queueMax,
      // Waiting on a futex would keep the thread from messages of others; the tasks are long enough without it.
      atomics: 'disabled',
    })
    return this.piscina
  }
}
