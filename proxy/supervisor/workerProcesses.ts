import { type ChildProcess, fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import type { Logger } from 'pino'
import { workerStopMaxMs } from '../../contract/limits/stopTime.ts'
import type { ProxyConfig } from '../config.ts'
import type { Limits } from '../limits.ts'
import { logEvent } from '../logEvents.ts'
import { addCounters, newCounters } from '../metrics/requestMetrics.ts'
import { HEAD_BYTES_MAX } from '../server/exchange.ts'
import type { MainToWorker, WorkerSnapshot, WorkerToMain } from './workerMessages.ts'

const WORKER_FILE = fileURLToPath(new URL('../worker.js', import.meta.url))
// Objects that a request allocates are dead when it ends; the more of them the young space holds, the less the
// collector copies. It has its full size from the start, because otherwise it grows late under load and shrinks afterwards.
const YOUNG_SPACE_MIB = 32
const YOUNG_SPACE = [`--min-semi-space-size=${YOUNG_SPACE_MIB}`, `--max-semi-space-size=${YOUNG_SPACE_MIB}`]
const RESTART_MIN_MS = 100
const RESTART_MAX_MS = 5_000
const SNAPSHOT_TIMEOUT_MS = 1_000

interface Worker {
  readonly child: ChildProcess
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
  restarts = 0
  /** Requests of the workers that have died, by slot. */
  private readonly retiredRequests: number[]

  private readonly config: ProxyConfig
  private readonly limits: Limits
  private readonly log: Logger
  private readonly onEnded: () => void
  private readonly workers = new Set<Worker>()
  private stopping = false
  private failuresInRow = 0
  private port: number
  private nextSnapshot = 1

  /** @param onEnded called when a worker's process has ended */
  constructor(config: ProxyConfig, limits: Limits, log: Logger, onEnded: () => void) {
    this.onEnded = onEnded
    this.config = config
    this.limits = limits
    this.log = log
    this.port = config.port
    this.retiredRequests = new Array<number>(config.workers).fill(0)
  }

  /**
   * Starts all workers; they share the port of the first one.
   * @returns the port
   */
  async start(): Promise<number> {
    this.port = await this.spawn(0)
    await Promise.all(Array.from({ length: this.config.workers - 1 }, (_, i) => this.spawn(i + 1)))
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

  private spawn(slot: number): Promise<number> {
    const env = { ...process.env, PORT: String(this.port), UWS_HTTP_MAX_HEADERS_SIZE: String(HEAD_BYTES_MAX) }
    const execArgv = [...process.execArgv, ...YOUNG_SPACE]
    const child = fork(WORKER_FILE, [], { env, execArgv, stdio: ['ignore', 'inherit', 'inherit', 'ipc'] })
    const worker: Worker = {
      child,
      slot,
      ready: false,
      owner: '',
      drained: false,
      last: undefined,
      snapshots: new Map(),
    }
    this.workers.add(worker)
    return new Promise((resolve, reject) => {
      child.on('message', (message: WorkerToMain) => {
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
        resolve(message.ready.port)
      })
      child.on('exit', (code, signal) => {
        this.workers.delete(worker)
        this.onEnded()
        this.retire(worker)
        this.releaseDrained(worker)
        if (this.stopping) return
        logEvent(this.log, 'worker_died', { pid: child.pid, code, signal })
        if (worker.ready) this.replace(slot)
        else reject(new Error(`a worker ended with ${code ?? signal} before it was ready`))
      })
    })
  }

  // Workers exit together: the kernel keeps sending new requests to each of them as long as it listens.
  private releaseDrained(worker: Worker): void {
    if (!this.stopping) this.tell(worker, { leave: true })
    else if ([...this.workers].every((one) => one.drained)) {
      for (const one of this.workers) this.tell(one, { leave: true })
    }
  }

  private retire({ slot, last }: Worker): void {
    if (last === undefined) return
    addCounters(this.retired, last.counters)
    this.retiredRequests[slot] = (this.retiredRequests[slot] ?? 0) + last.counters.requests
  }

  private replace(slot: number): void {
    this.restarts++
    const delayMs = Math.min(RESTART_MIN_MS * 2 ** this.failuresInRow, RESTART_MAX_MS)
    this.failuresInRow++
    setTimeout(() => {
      if (this.stopping) return
      this.spawn(slot).catch((error: unknown) => {
        logEvent(this.log, 'worker_restart_failed', { err: error })
        this.replace(slot)
      })
    }, delayMs)
  }

  private end(worker: Worker, noticeMs: number): Promise<void> {
    const { child } = worker
    return new Promise((resolve) => {
      const timer = setTimeout(() => child.kill('SIGKILL'), workerStopMaxMs(this.limits))
      child.once('exit', () => {
        clearTimeout(timer)
        resolve()
      })
      this.tell(worker, { drain: true, noticeMs })
    })
  }

  private snapshotOf(worker: Worker): Promise<WorkerSnapshot | undefined> {
    const id = this.nextSnapshot++
    return new Promise((resolve) => {
      const done = (data: WorkerSnapshot | undefined) => {
        clearTimeout(timer)
        worker.snapshots.delete(id)
        resolve(data)
      }
      const timer = setTimeout(() => done(worker.last), SNAPSHOT_TIMEOUT_MS)
      worker.snapshots.set(id, done)
      this.tell(worker, { takeSnapshot: id })
    })
  }

  // A worker that has just died takes no message; its exit handler does the rest.
  private tell(worker: Worker, message: MainToWorker): void {
    if (worker.child.connected) worker.child.send(message, () => undefined)
  }
}
