import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { pathToFileURL } from 'node:url'
import { newSignal } from '../../../contract/std/signal.ts'
import { compiled } from '../../../control/launch/paths.ts'
import { TEST_FLAGS } from '../nodeFlags.ts'
import type { Failure, FileEnd, FromLane, ToLane } from './laneMessages.ts'

/** A process keeps what the modules of its files hold. */
const RESIDENT_BYTES_MAX = 2 ** 30
const STOP_TIMEOUT_MS = 20_000

export interface LanesOptions {
  readonly env: NodeJS.ProcessEnv
  readonly lanes: number
  /** For one file. */
  readonly timeoutMs: number
  /** Aborted where the run is told to stop. */
  readonly stop: AbortSignal
  readonly onEnd: (result: FileResult) => void
}

export interface FileResult {
  readonly file: string
  readonly failures: readonly Failure[]
  readonly notes: readonly string[]
  readonly durationMs: number
  /** Undefined where its process ended first. */
  readonly end: FileEnd | undefined
}

/** Runs test files in a few processes side by side; each takes the next file when it has ended one. */
export async function runInLanes(files: readonly string[], options: LanesOptions): Promise<void> {
  // Those for which a lane has to begin anew come first, when a lane that ends has learnt little.
  const queue = [...files.filter(measuresMemory), ...files.filter((file) => !measuresMemory(file))]
  const serve = async (): Promise<void> => {
    let lane: Lane | undefined
    for (;;) {
      const file = options.stop.aborted ? undefined : queue.shift()
      if (file === undefined) break
      if (lane !== undefined && measuresMemory(file)) {
        await lane.end()
        lane = undefined
      }
      lane ??= new Lane(options)
      const result = await lane.run(file)
      options.onEnd(result)
      if (isFit(result)) continue
      await lane.end()
      lane = undefined
    }
    await lane?.end()
  }
  await Promise.all(Array.from({ length: options.lanes }, serve))
}

/** Whether a file measures the memory of its own process, in which nothing may have run before. */
function measuresMemory(file: string): boolean {
  return /\bmemory(?:Usage|InUse)\(/.test(readFileSync(file, 'utf8'))
}

/** Whether the next file finds the process as it would find a new one. */
function isFit({ failures, end }: FileResult): boolean {
  const isClean = end !== undefined && end.leftOpen.length === 0 && failures.length === 0
  return isClean && end.residentBytes < RESIDENT_BYTES_MAX
}

class Lane {
  private readonly child: ChildProcess
  private readonly ended: Promise<unknown>
  private readonly options: LanesOptions

  constructor(options: LanesOptions) {
    this.options = options
    const reporter = [`--test-reporter=${compiled('test/support/runner/laneReporter.js')}`]
    const tracking = `--import=${pathToFileURL(compiled('test/support/runner/tracking.js')).href}`
    const output = [...reporter, '--test-reporter-destination=stdout']
    const flags = ['--enable-source-maps', ...TEST_FLAGS, tracking, ...output]
    // A session of its own: a Ctrl-C reaches the runner alone, which then ends all in order.
    this.child = spawn(process.execPath, [...flags, compiled('test/support/runner/lane.js')], {
      env: { ...process.env, ...options.env },
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
      detached: true,
    })
    this.ended = once(this.child, 'exit')
  }

  async run(file: string): Promise<FileResult> {
    const { child, options } = this
    const failures: Failure[] = []
    const notes: string[] = []
    const fail = (text: string): void => void failures.push({ name: 'the whole file', text })
    const startedMs = Date.now()
    let end: FileEnd | undefined
    const done = newSignal()
    const take = (message: FromLane): void => {
      if ('failed' in message) failures.push(message.failed)
      else if ('note' in message) notes.push(message.note)
      else {
        end = message.ended
        done.resolve()
      }
    }
    const died = (code: number | null, signal: string | null): void => {
      fail(`its process ended with ${code ?? signal}`)
      done.resolve()
    }
    const giveUp = (): void => {
      fail(options.stop.aborted ? 'the run was stopped' : `it took longer than ${options.timeoutMs} ms`)
      done.resolve()
    }
    const timer = setTimeout(giveUp, options.timeoutMs)
    child.on('message', take).once('exit', died)
    options.stop.addEventListener('abort', giveUp, { once: true })
    this.tell({ run: file })
    await done.promise
    clearTimeout(timer)
    child.off('message', take).off('exit', died)
    options.stop.removeEventListener('abort', giveUp)
    return { file, failures, notes, durationMs: Date.now() - startedMs, end }
  }

  /** Ends the process, and with it those that its tests have left. */
  async end(): Promise<void> {
    this.tell({ end: true })
    const timer = setTimeout(() => this.child.kill('SIGKILL'), STOP_TIMEOUT_MS)
    await this.ended
    clearTimeout(timer)
  }

  private tell(message: ToLane): void {
    if (this.child.connected) this.child.send(message, () => undefined)
  }
}
