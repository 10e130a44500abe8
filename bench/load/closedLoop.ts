import type { Answer } from './connection.ts'
import { Connection } from './connection.ts'
import type { LoadOptions, LoadResult } from './options.ts'
import { RequestSource } from './requests.ts'
import { Samples } from './samples.ts'
import type { RightAnswer } from './verify.ts'
import { verifyTarget } from './verify.ts'

/**
 * Checks one answer in full, then keeps every connection busy with one request at a time until the time is over, or
 * the number of requests is reached, and the last answers are in.
 * @throws Error when the first answer is not right or a connection fails; wrong answers later are counted
 */
export async function runLoad(options: LoadOptions): Promise<LoadResult> {
  const requests = new RequestSource(options.target, options.body)
  const right = await verifyTarget(options, requests)
  return new Run(options, requests, right).finished
}

class Run {
  readonly finished: Promise<LoadResult>
  private readonly options: LoadOptions
  private readonly source: RequestSource
  private readonly right: RightAnswer
  private readonly connections: Connection[] = []
  private readonly latency = new Samples()
  private readonly firstByte = new Samples()
  private readonly startMs = performance.now()
  private readonly untilMs: number
  private lastMs = this.startMs
  private resting = 0
  /** Requests that may still begin. */
  private left: number
  private requests = 0
  private events = 0
  private wrong = 0
  private firstWrong = ''
  private lostEvents = 0
  private stalls = 0
  private longestGapMs = 0

  constructor(options: LoadOptions, source: RequestSource, right: RightAnswer) {
    this.options = options
    this.source = source
    this.left = options.requests ?? Number.POSITIVE_INFINITY
    this.right = right
    this.untilMs = this.startMs + options.seconds * 1_000
    this.finished = new Promise((resolve, reject) => this.begin(resolve, reject))
  }

  private begin(resolve: (result: LoadResult) => void, reject: (error: Error) => void): void {
    const { target, streamed, rampMs = 0 } = this.options
    const count = Math.min(this.options.connections, this.left)
    const close = () => {
      for (const connection of this.connections) connection.close()
    }
    const fail = (error: Error) => {
      close()
      reject(error)
    }
    const sendOrRest = (connection: Connection) => {
      if (this.left > 0 && performance.now() < this.untilMs) {
        this.left--
        connection.send()
        return
      }
      this.resting++
      if (this.resting < count) return
      close()
      resolve(this.result())
    }
    const onAnswer = (answer: Connection) => {
      this.note(answer)
      sendOrRest(answer)
    }
    // With a ramp they are also opened one after the other: all of them together could overflow the queue of the listener.
    const open = () => {
      const connection = new Connection(target, this.source, streamed, onAnswer, fail)
      this.connections.push(connection)
      sendOrRest(connection)
    }
    for (let i = 0; i < count; i++) {
      if (rampMs === 0) open()
      else setTimeout(open, (i * rampMs) / count)
    }
  }

  private note(answer: Connection): void {
    this.requests++
    this.latency.add(answer.endMs - answer.startMs)
    this.firstByte.add(answer.firstByteMs - answer.startMs)
    this.lastMs = answer.endMs
    if (answer.status !== 200) this.noteWrong(answer)
    if (!this.options.streamed) return
    const { dataEvents, done } = answer.events
    this.events += dataEvents
    this.stalls += answer.stalls
    if (answer.longestGapMs > this.longestGapMs) this.longestGapMs = answer.longestGapMs
    if (answer.status === 200 && (dataEvents !== this.right.events || !done)) {
      this.noteWrong(answer)
      this.lostEvents += Math.max(0, this.right.events - dataEvents)
    }
  }

  private noteWrong({ status, beginning }: Answer): void {
    this.wrong++
    if (this.firstWrong === '') this.firstWrong = `status ${status}: ${beginning}`
  }

  private result(): LoadResult {
    const seconds = (this.lastMs - this.startMs) / 1_000
    return {
      target: this.options.target.name,
      connections: this.connections.length,
      seconds,
      requests: this.requests,
      requestsPerSecond: this.requests / seconds,
      events: this.events,
      eventsPerSecond: this.events / seconds,
      wrong: this.wrong,
      firstWrong: this.firstWrong,
      lostEvents: this.lostEvents,
      stalls: this.stalls,
      longestGapMs: this.longestGapMs,
      latencyMs: this.latency.quantiles(),
      firstByteMs: this.firstByte.quantiles(),
    }
  }
}
