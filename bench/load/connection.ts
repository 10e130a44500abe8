import type { Socket } from 'node:net'
import { connect } from 'node:net'
import type { ResponseEvents } from '../../control/load/httpReader.ts'
import { HttpReader } from '../../control/load/httpReader.ts'
import { EventCounter } from './eventCounter.ts'
import type { LoadTarget } from './options.ts'
import type { RequestSource } from './requests.ts'

/** All connections read into the same memory: callbacks must use their bytes before they return. */
const readBuffer = Buffer.allocUnsafe(65_536)

/** An answer as a connection saw it. Times are milliseconds of `performance.now()`. */
export interface Answer {
  readonly status: number
  readonly bodyBytes: number
  readonly events: EventCounter
  readonly startMs: number
  readonly firstByteMs: number
  readonly endMs: number
  readonly longestGapMs: number
  readonly stalls: number
  /** The beginning of the body of an error answer. */
  readonly beginning: string
}

const STALL_MS = 100
const BEGINNING_BYTES = 300

/** One keep-alive connection that sends request after request, each after the answer to the last. */
export class Connection implements ResponseEvents, Answer {
  status = 0
  bodyBytes = 0
  readonly events = new EventCounter()
  startMs = 0
  firstByteMs = 0
  endMs = 0
  longestGapMs = 0
  stalls = 0
  beginning = ''
  /** Receives body bytes as text when set; for looking at an answer, not for timing. */
  onText: ((text: string) => void) | undefined
  private readonly requests: RequestSource
  private readonly streamed: boolean
  private readonly socket: Socket
  private readonly reader = new HttpReader(this)
  private readonly onAnswer: (answer: Connection) => void
  private lastMs = 0
  private nowMs = 0

  constructor(
    target: LoadTarget,
    requests: RequestSource,
    streamed: boolean,
    onAnswer: (answer: Connection) => void,
    onFailure: (error: Error) => void,
  ) {
    this.requests = requests
    this.streamed = streamed
    this.onAnswer = onAnswer
    const callback = (count: number, bytes: Uint8Array): boolean => {
      this.nowMs = performance.now()
      try {
        this.reader.push(bytes as Buffer, count)
      } catch (error) {
        this.socket.destroy(error instanceof Error ? error : new Error(String(error)))
      }
      return true
    }
    const onread = { buffer: readBuffer, callback }
    this.socket = connect({ host: target.host, port: target.port, noDelay: true, onread })
    this.socket.on('error', onFailure)
    this.socket.on('close', () => onFailure(new Error(`${target.name} closed a connection`)))
  }

  send(): void {
    this.events.reset()
    this.bodyBytes = 0
    this.longestGapMs = 0
    this.stalls = 0
    this.firstByteMs = 0
    this.startMs = performance.now()
    this.socket.write(this.requests.next())
  }

  close(): void {
    this.socket.removeAllListeners()
    this.socket.on('error', () => {})
    this.socket.destroy()
  }

  onHead(status: number): void {
    this.status = status
    this.beginning = ''
  }

  onBody(bytes: Buffer, start: number, end: number): void {
    if (this.firstByteMs === 0) this.firstByteMs = this.nowMs
    else if (this.nowMs !== this.lastMs) this.noteGap(this.nowMs - this.lastMs)
    this.lastMs = this.nowMs
    this.bodyBytes += end - start
    if (this.status !== 200) this.beginning ||= bytes.toString('utf8', start, Math.min(end, start + BEGINNING_BYTES))
    if (this.streamed) this.events.push(bytes, start, end)
    this.onText?.(bytes.toString('utf8', start, end))
  }

  onEnd(): void {
    this.endMs = this.nowMs
    this.onAnswer(this)
  }

  private noteGap(gapMs: number): void {
    if (gapMs > this.longestGapMs) this.longestGapMs = gapMs
    if (gapMs > STALL_MS) this.stalls++
  }
}
