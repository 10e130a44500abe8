import { connect, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import type { Answer } from './answer.ts'
import { AnswerReader } from './answerReader.ts'
import { HttpReader } from './httpReader.ts'
import type { LoadLimits } from './limits.ts'
import type { ReadyRequest } from './requestSource.ts'
import type { Target } from './target.ts'

/** One client of a load test: a keep-alive connection that sends one request at a time, and is opened anew when it has to be. */
export class Connection {
  private readonly target: Target
  private readonly limits: LoadLimits
  private readonly onAnswer: (answer: Answer, from: Connection) => void
  private socket: Socket | undefined
  private request: ReadyRequest | undefined
  private answer: AnswerReader | undefined
  private dueMs = 0
  private sentMs = 0
  private idleMs = 0
  private nowMs = 0

  constructor(target: Target, limits: LoadLimits, onAnswer: (answer: Answer, from: Connection) => void) {
    this.target = target
    this.limits = limits
    this.onAnswer = onAnswer
  }

  /** Sends a request; its answer, or the failure to get one, is reported once. @param dueMs from when its times count */
  send(request: ReadyRequest, dueMs: number): void {
    this.sentMs = performance.now()
    if (this.sentMs - this.idleMs > this.limits.loadIdleMs) this.drop()
    this.request = request
    this.dueMs = dueMs
    this.answer = new AnswerReader(request.kind, this.limits)
    this.socket ??= this.open()
    this.socket.write(request.bytes)
  }

  /** Ends the request with a failure when it has taken too long. */
  expire(nowMs: number): void {
    if (this.request !== undefined && nowMs - this.sentMs > this.limits.loadTimeoutMs) this.end('timeout')
  }

  /** Closes it without a report. */
  close(): void {
    this.request = undefined
    this.drop()
  }

  private open(): Socket {
    const { host, port, isSecure } = this.target
    const servername = isSecure && !/^[\d.]+$|:/.test(host) ? { servername: host } : {}
    const socket = isSecure ? connectTls({ host, port, ...servername }) : connect({ host, port, noDelay: true })
    const reader = new HttpReader({
      onHead: (status, head) => this.answerOn(socket)?.onHead(status, head),
      onBody: (bytes, start, end) => this.answerOn(socket)?.onBody(bytes.subarray(start, end), this.nowMs),
      onEnd: () => {
        if (this.socket === socket) this.end('')
      },
    })
    let failure = 'connection_lost'
    socket.on('data', (bytes: Buffer) => {
      if (this.socket !== socket) return
      this.nowMs = performance.now()
      try {
        reader.push(bytes, bytes.length)
      } catch (error) {
        this.end((error as Error).message === 'answer_too_large' ? 'answer_too_large' : 'not_http')
      }
    })
    socket.on('error', ({ code }: NodeJS.ErrnoException) => {
      if (code !== undefined && code !== 'ECONNRESET' && code !== 'EPIPE') failure = code.toLowerCase()
    })
    socket.on('close', () => {
      if (this.socket !== socket) return
      this.nowMs = performance.now()
      // The end of the connection may be the end of an answer, after which the next request has another connection.
      reader.close()
      if (this.socket === socket) this.end(failure)
    })
    return socket
  }

  /** The answer that is read from this socket; none once the request has another one. */
  private answerOn(socket: Socket): AnswerReader | undefined {
    return this.socket === socket ? this.answer : undefined
  }

  private end(failure: string): void {
    const { request, answer } = this
    const isOver = failure !== '' || answer?.isLast !== false
    if (isOver) this.drop()
    if (request === undefined || answer === undefined) return
    this.request = undefined
    this.answer = undefined
    this.idleMs = performance.now()
    this.onAnswer(answer.finish(request.key, this.dueMs, this.idleMs, failure), this)
  }

  private drop(): void {
    const socket = this.socket
    this.socket = undefined
    socket?.destroy()
  }
}
