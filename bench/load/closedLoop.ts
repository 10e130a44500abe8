import { Connection, requestBytes } from './connection.ts'
import type { LoadOptions, LoadResult } from './options.ts'
import { Samples } from './samples.ts'
import type { RightAnswer } from './verify.ts'
import { verifyTarget } from './verify.ts'

/**
 * Checks one answer in full, then keeps every connection busy with one request at a time until the time is over and
 * the last answers are in.
 * @throws Error when the first answer is not right or a connection fails; wrong answers later are counted
 */
export async function runLoad(options: LoadOptions): Promise<LoadResult> {
  const right = await verifyTarget(options)
  return new Run(options, right).finished
}

class Run {
  readonly finished: Promise<LoadResult>
  private readonly options: LoadOptions
  private readonly right: RightAnswer
  private readonly connections: Connection[] = []
  private readonly latency = new Samples()
  private readonly firstByte = new Samples()
  private readonly startMs = performance.now()
  private readonly untilMs: number
  private lastMs = this.startMs
  private resting = 0
  private requests = 0
  private events = 0
  private wrong = 0
  private lostEvents = 0
  private stalls = 0
  private longestGapMs = 0

  constructor(options: LoadOptions, right: RightAnswer) {
    this.options = options
    this.right = right
    this.untilMs = this.startMs + options.seconds * 1_000
    this.finished = new Promise((resolve, reject) => this.begin(resolve, reject))
  }

  private begin(resolve: (result: LoadResult) => void, reject: (error: Error) => void): void {
    const { target, body, streamed, connections } = this.options
    const request = requestBytes(target, body)
    const close = () => {
      for (const connection of this.connections) connection.close()
    }
    const fail = (error: Error) => {
      close()
      reject(error)
    }
    const onAnswer = (answer: Connection) => {
      this.note(answer)
      if (answer.endMs < this.untilMs) return answer.send()
      this.resting++
      if (this.resting < connections) return
      close()
      resolve(this.result())
    }
    const gapMs = (this.options.rampMs ?? 0) / connections
    for (let i = 0; i < connections; i++) {
      const connection = new Connection(target, request, streamed, onAnswer, fail)
      this.connections.push(connection)
      if (gapMs === 0) connection.send()
      else setTimeout(() => connection.send(), i * gapMs)
    }
  }

  private note(answer: Connection): void {
    this.requests++
    this.latency.add(answer.endMs - answer.startMs)
    this.firstByte.add(answer.firstByteMs - answer.startMs)
    this.lastMs = answer.endMs
    if (answer.status !== 200) this.wrong++
    if (!this.options.streamed) return
    const { dataEvents, done } = answer.events
    this.events += dataEvents
    this.stalls += answer.stalls
    if (answer.longestGapMs > this.longestGapMs) this.longestGapMs = answer.longestGapMs
    if (answer.status === 200 && (dataEvents !== this.right.events || !done)) {
      this.wrong++
      this.lostEvents += Math.max(0, this.right.events - dataEvents)
    }
  }

  private result(): LoadResult {
    const seconds = (this.lastMs - this.startMs) / 1_000
    return {
      target: this.options.target.name,
      connections: this.options.connections,
      seconds,
      requests: this.requests,
      requestsPerSecond: this.requests / seconds,
      events: this.events,
      eventsPerSecond: this.events / seconds,
      wrong: this.wrong,
      lostEvents: this.lostEvents,
      stalls: this.stalls,
      longestGapMs: this.longestGapMs,
      latencyMs: this.latency.quantiles(),
      firstByteMs: this.firstByte.quantiles(),
    }
  }
}
