import type { Logger } from 'pino'
import { workerStopMaxMs } from '../../contract/limits/stopTime.ts'
import { newSignal, type Signal } from '../../contract/std/signal.ts'
import type { ProxyConfig } from '../config.ts'
import { logEvent } from '../logEvents.ts'
import { addModels, type ModelCounts } from '../metrics/modelMetrics.ts'
import { addCounters, newCounters } from '../metrics/requestMetrics.ts'
import { HEAD_BYTES_MAX } from '../server/exchange.ts'
import type { StartWorker, WorkerProcess } from './forkWorker.ts'
import type { SupervisorLimits } from './limits.ts'
import type { WorkerSnapshot, WorkerToMain } from './workerMessages.ts'

const RESTART_MIN_MS = 100
const RESTART_MAX_MS = 5_000

export interface WorkerProcessesOptions {
  readonly config: ProxyConfig
  readonly limits: SupervisorLimits
  readonly log: Logger
  /** That of the workers, but for what their supervisor decides. */
  readonly environment: NodeJS.ProcessEnv
  readonly startWorker: StartWorker
  /** Called when a worker has ended. */
  readonly onEnded: () => void
}

interface Worker {
  readonly process: WorkerProcess
  readonly ended: Signal
  /** Its place among the workers, from 0; its replacement takes the same. */
  readonly slot: number
  ready: boolean
  /** The worker's owner name in Redis and in the journal; empty until it is ready. */
  owner: string
  drained: boolean
  last: WorkerSnapshot | undefined
  readonly snapshots: Map<number, (data: WorkerSnapshot | undefined) => void>
}

/** Keeps the workers of a proxy running: one process each, all on one port. One that dies is replaced. */
export class WorkerProcesses {
  /** The counts of dead workers, so that no counter decreases. */
  readonly retired = newCounters()
  readonly retiredModels: ModelCounts = {}
  restarts = 0
  /** Requests of the workers that have died, by slot. */
  private readonly retiredRequests: number[]

  private readonly options: WorkerProcessesOptions
  private readonly workers = new Set<Worker>()
  private stopping = false
  private failuresInRow = 0
  private port: number
  private nextSnapshot = 1

  constructor(options: WorkerProcessesOptions) {
    this.options = options
    const { port, workers } = options.config
    this.port = port
    this.retiredRequests = new Array<number>(workers).fill(0)
  }

  /**
   * Starts all workers; they share the port of the first one.
   * @returns the port
   */
  async start(): Promise<number> {
    this.port = await this.spawn(0)
    await Promise.all(Array.from({ length: this.options.config.workers - 1 }, (_, i) => this.spawn(i + 1)))
    return this.port
  }

  /** The owner names of the running workers. */
  get owners(): ReadonlySet<string> {
    return new Set([...this.workers].map(({ owner }) => owner))
  }

  /**
   * Lets every worker drain and end; those that do not are killed after their time.
   * @param noticeMs how long they serve before, for load balancers that ask whether the proxy is ready
   */
  async stop(noticeMs: number): Promise<void> {
    this.stopping = true
    const ended = [...this.workers].map((worker) => this.end(worker, noticeMs))
    await Promise.all(ended)
  }

  /** Has the workers open the access log again. */
  reopenLogs(): void {
    for (const { process } of this.workers) process.send({ reopen: true })
  }

  /** The current reports of all workers; a worker that does not answer in time contributes its last report. */
  async snapshots(): Promise<WorkerSnapshot[]> {
    const answers = await Promise.all([...this.workers].map((worker) => this.snapshotOf(worker)))
    return answers.filter((answer) => answer !== undefined)
  }

  /** Requests of each slot, to see how they spread over the workers. */
  get requestsBySlot(): number[] {
    const requests = [...this.retiredRequests]
    for (const { slot, last } of this.workers) requests[slot] = (requests[slot] ?? 0) + (last?.counters.requests ?? 0)
    return requests
  }

  /** @returns the port, once the worker is ready */
  private spawn(slot: number): Promise<number> {
    const { environment, startWorker, log } = this.options
    return new Promise((resolve, reject) => {
      const env = { ...environment, PORT: String(this.port), UWS_HTTP_MAX_HEADERS_SIZE: String(HEAD_BYTES_MAX) }
      const worker: Worker = {
        process: startWorker(env, {
          onMessage: (message) => this.heard(worker, message, resolve),
          onExit: (code, signal) => {
            this.gone(worker)
            if (this.stopping) return
            logEvent(log, 'worker_died', { pid: worker.process.pid, code, signal })
            if (worker.ready) this.replace(slot)
            else reject(new Error(`a worker ended with ${code ?? signal} before it was ready`))
          },
        }),
        ended: newSignal(),
        slot,
        ready: false,
        owner: '',
        drained: false,
        last: undefined,
        snapshots: new Map(),
      }
      this.workers.add(worker)
    })
  }

  private heard(worker: Worker, message: WorkerToMain, onReady: (port: number) => void): void {
    if ('snapshot' in message) {
      worker.last = message.snapshot.data
      worker.snapshots.get(message.snapshot.id)?.(message.snapshot.data)
      return
    }
    if ('drained' in message) {
      worker.drained = true
      this.releaseDrained(worker)
      return
    }
    worker.ready = true
    worker.owner = message.ready.owner
    this.failuresInRow = 0
    onReady(message.ready.port)
  }

  private gone(worker: Worker): void {
    this.workers.delete(worker)
    worker.ended.resolve()
    this.options.onEnded()
    this.retire(worker)
    this.releaseDrained(worker)
  }

  // Workers exit together: the kernel keeps sending new requests to each of them as long as it listens.
  private releaseDrained(worker: Worker): void {
    if (!this.stopping) worker.process.send({ leave: true })
    else if ([...this.workers].every((one) => one.drained)) {
      for (const one of this.workers) one.process.send({ leave: true })
    }
  }

  private retire({ slot, last }: Worker): void {
    if (last === undefined) return
    addCounters(this.retired, last.counters)
    addModels(this.retiredModels, last.models, this.options.limits)
    this.retiredRequests[slot] = (this.retiredRequests[slot] ?? 0) + last.counters.requests
  }

  private replace(slot: number): void {
    this.restarts++
    const delayMs = Math.min(RESTART_MIN_MS * 2 ** this.failuresInRow, RESTART_MAX_MS)
    this.failuresInRow++
    setTimeout(() => {
      if (this.stopping) return
      this.spawn(slot).catch((error: unknown) => {
        logEvent(this.options.log, 'worker_restart_failed', { err: error })
        this.replace(slot)
      })
    }, delayMs)
  }

  private async end({ process, ended }: Worker, noticeMs: number): Promise<void> {
    const timer = setTimeout(() => process.kill9(), workerStopMaxMs(this.options.limits))
    process.send({ drain: true, noticeMs })
    await ended.promise
    clearTimeout(timer)
  }

  private snapshotOf(worker: Worker): Promise<WorkerSnapshot | undefined> {
    const id = this.nextSnapshot++
    return new Promise((resolve) => {
      const done = (data: WorkerSnapshot | undefined) => {
        clearTimeout(timer)
        worker.snapshots.delete(id)
        resolve(data)
      }
      const timer = setTimeout(() => done(worker.last), this.options.limits.workerReportMs)
      worker.snapshots.set(id, done)
      worker.process.send({ takeSnapshot: id })
    })
  }
}
