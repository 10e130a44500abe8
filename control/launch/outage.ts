import { connect } from 'node:net'
import type { Warning } from './warningText.ts'

const REFUSED = /\bECONNREFUSED (\[?[\w.:-]+?\]?):(\d+)\b/
// Other messages that a program logs during an outage of a server that it needs.
const SYMPTOM =
  /ECONNREFUSED|ECONNRESET|EPIPE|connection to Redis was lost|did not answer in time|Connection is closed|Stream isn't writeable|Connection terminated|Command timed out|took too long to respond/
const NO_MORE = 'no more trouble'
const ACCEPTS_AGAIN = 'takes connections again'
const CHECK_INTERVAL_MS = 1_000
const CONNECT_TIMEOUT_MS = 1_000

interface Server {
  readonly host: string
  readonly port: number
}

interface Outage {
  /** The address of the server, once a line has named it. */
  server: Server | undefined
  /** Lines that were not shown, in total and since the last check. */
  hidden: number
  hiddenLately: number
}

/**
 * Deduplicates the warnings of one program during an outage of a server that it needs: the first line is shown, the following
 * ones are counted, and the recovery of the server is reported once.
 */
export class OutageFilter {
  private readonly show: (text: string) => void
  private outage: Outage | undefined
  private timer: NodeJS.Timeout | undefined

  /** @param show prints a line for the program */
  constructor(show: (text: string) => void) {
    this.show = show
  }

  /** Shows a warning, or counts it. */
  take({ text, fields }: Warning): void {
    // A route that failed speaks of a provider; its next failure may be another one.
    if ('route' in fields || !SYMPTOM.test(text)) return this.show(text)
    if (this.outage === undefined) {
      this.outage = { server: serverIn(text), hidden: 0, hiddenLately: 0 }
      this.show(text)
      this.watch()
      return
    }
    this.outage.server ??= serverIn(text)
    this.outage.hidden++
    this.outage.hiddenLately++
  }

  /** Forgets the outage without reporting its end. */
  stop(): void {
    clearTimeout(this.timer)
    this.outage = undefined
  }

  private watch(): void {
    this.timer = setTimeout(() => void this.look(), CHECK_INTERVAL_MS).unref()
  }

  private async look(): Promise<void> {
    const outage = this.outage
    if (outage === undefined) return
    const { server } = outage
    const isOver = server === undefined ? outage.hiddenLately === 0 : await accepts(server)
    if (this.outage !== outage) return
    outage.hiddenLately = 0
    if (!isOver) return this.watch()
    this.outage = undefined
    const what = server === undefined ? NO_MORE : `${server.host}:${server.port} ${ACCEPTS_AGAIN}`
    const hidden = outage.hidden === 0 ? '' : `; more about it is in the log (lines: ${outage.hidden})`
    this.show(what + hidden)
  }
}

/** Whether a shown line reports that a server does not answer, or that it does again. */
export function isOutage(text: string): boolean {
  return SYMPTOM.test(text) || text.includes(NO_MORE) || text.includes(ACCEPTS_AGAIN)
}

function serverIn(text: string): Server | undefined {
  const [, host, port] = REFUSED.exec(text) ?? []
  return host === undefined ? undefined : { host: host.replace(/^\[|\]$/g, ''), port: Number(port) }
}

function accepts({ host, port }: Server): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, host)
    const finish = (answer: boolean) => {
      socket.destroy()
      resolve(answer)
    }
    socket.setTimeout(CONNECT_TIMEOUT_MS, () => finish(false))
    socket.once('connect', () => finish(true))
    socket.once('error', () => finish(false))
  })
}
