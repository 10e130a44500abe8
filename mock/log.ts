import { closeSync, openSync, writeSync } from 'node:fs'
import type { ReportedUsage } from './usage.ts'

/** How an answer ended. `cut` covers every early end that the behaviour asked for, `error` every error answer. */
export type Outcome = 'complete' | 'cut' | 'error' | 'client_gone'

/** The log entry of one request, written when its answer ended or its client disconnected. */
export interface Served {
  /** Counts the lines of the log from 1. */
  n: number
  /** When the request arrived and when its answer ended, milliseconds since 1970. */
  readonly at_ms: number
  end_ms: number
  model: string
  stream: boolean
  status: number
  outcome: Outcome
  /** Content frames handed to the connection; for an answer in one piece, its tokens. */
  frames_sent: number
  content_bytes: number
  /** The last usage that was sent, or null. */
  usage: ReportedUsage | null
  /** The x-request-id header of the request, or null. */
  readonly request_id: string | null
  /** UTF-8 bytes of the messages as JSON. */
  prompt_bytes: number
  /** Of the request, such as /v1/chat/completions. */
  path?: string
  /** Except for chat: the billed quantity (images, characters, seconds, searches), and the request's fields. */
  quantity?: number | null
  fields?: Readonly<Record<string, unknown>>
}

/** Counters since the start or the last reset. */
export interface ProviderStats {
  requests: number
  readonly open: number
  /** Content frames of the open ones so far. */
  readonly open_frames_sent: number
  complete: number
  cut: number
  error: number
  client_gone: number
  frames_sent: number
  content_bytes: number
}

const RING_ENTRIES = 65_536
const FLUSH_CHARS = 65_536
const FLUSH_MS = 200

/** The log of served requests: the newest entries in memory, all of them in a file when one is named. */
export class ServedLog {
  private ring: Served[] = []
  private count = 0
  private counters = emptyCounters()
  private readonly open = new Set<Served>()
  private pending = ''
  private readonly file: number | undefined
  private readonly timer: NodeJS.Timeout | undefined
  private readonly onServed: ((served: Served) => void) | undefined

  /** @param file appended to; undefined keeps the log only in memory */
  constructor(file: string | undefined, onServed: ((served: Served) => void) | undefined) {
    this.onServed = onServed
    if (file === undefined) return
    this.file = openSync(file, 'a')
    this.timer = setInterval(() => this.flush(), FLUSH_MS)
    this.timer.unref()
  }

  /** @param served the entry of the request so far, which `record` takes at its end */
  requestArrived(served: Served): void {
    this.open.add(served)
  }

  /** Records the end of a request that `requestArrived` announced; assigns the number of the entry. */
  record(served: Served): void {
    this.open.delete(served)
    served.n = ++this.count
    this.ring[(served.n - 1) % RING_ENTRIES] = served
    const counters = this.counters
    counters.requests++
    counters[served.outcome]++
    counters.frames_sent += served.frames_sent
    counters.content_bytes += served.content_bytes
    if (this.file !== undefined) {
      this.pending += `${JSON.stringify(served)}\n`
      if (this.pending.length >= FLUSH_CHARS) this.flush()
    }
    this.onServed?.(served)
  }

  /** Entries with a number above `n`, oldest first, of those that are still in memory. */
  since(n: number): Served[] {
    const first = Math.max(n, this.count - RING_ENTRIES)
    const entries: Served[] = []
    for (let i = first; i < this.count; i++) {
      const served = this.ring[i % RING_ENTRIES]
      if (served !== undefined) entries.push(served)
    }
    return entries
  }

  stats(): ProviderStats {
    let frames = 0
    for (const served of this.open) frames += served.frames_sent
    return { ...this.counters, open: this.open.size, open_frames_sent: frames }
  }

  /** Forgets entries and counters; a log file keeps its lines and numbering starts again. */
  reset(): void {
    this.ring = []
    this.count = 0
    this.counters = emptyCounters()
  }

  flush(): void {
    if (this.file === undefined || this.pending === '') return
    const text = this.pending
    this.pending = ''
    writeSync(this.file, text)
  }

  close(): void {
    clearInterval(this.timer)
    this.flush()
    if (this.file !== undefined) closeSync(this.file)
  }
}

function emptyCounters(): Omit<ProviderStats, 'open' | 'open_frames_sent'> {
  return { requests: 0, complete: 0, cut: 0, error: 0, client_gone: 0, frames_sent: 0, content_bytes: 0 }
}
