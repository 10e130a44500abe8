import type { Reach } from '../../contract/providers/reach.ts'
import { HeaderBlock } from '../../proxy/upstream/transport/headerBlock.ts'
import type { Transport, UpstreamRequest } from '../../proxy/upstream/transport/transport.ts'

const TIMEOUT_MS = 60_000
const HEADERS = new HeaderBlock(['content-type', 'application/json', 'authorization', 'Bearer bench'])

/** One whole answer. */
export interface Answer {
  readonly bytes: number
  /** How often the client handed bytes on. */
  readonly reads: number
  /** Only of an answer that is checked. */
  readonly text: string
}

/** Sends a request and takes its answer. */
export type Ask = (keepText: boolean) => Promise<Answer>

/** Asks through a transport of the gateway. @param reach has the certificates that are trusted */
export function askBy(transport: Transport, origin: string, reach: Reach | undefined, body: string): Ask {
  const host = new URL(origin).host
  return (keepText) =>
    new Promise((resolve, reject) => {
      const request: UpstreamRequest = {
        origin,
        host,
        path: '/v1/chat/completions',
        method: 'POST',
        headers: HEADERS,
        requestId: 'req_bench',
        body,
        connectTimeoutMs: TIMEOUT_MS,
        firstByteTimeoutMs: TIMEOUT_MS,
        idleTimeoutMs: TIMEOUT_MS,
        totalTimeoutMs: TIMEOUT_MS,
        fresh: false,
        reach,
      }
      let [bytes, reads, text] = [0, 0, '']
      transport.send(request, {
        onHead: (status) => {
          if (status !== 200) reject(new Error(`status ${status}`))
        },
        onData: (part) => {
          bytes += part.length
          reads++
          if (keepText) text += part.toString('utf8')
        },
        onEnd: () => resolve({ bytes, reads, text }),
        onFailure: reject,
      })
    })
}

/** CPU time of this process and of the kernel on its behalf, for each request. */
export interface Cost {
  readonly microsPerRequest: number
  readonly readsPerRequest: number
}

/** Asks so often, so many at a time, and counts the CPU time. @throws Error where an answer is not as long as it has to be */
export async function costOf(ask: Ask, count: number, parallel: number, answerBytes: number): Promise<Cost> {
  let left = count
  let reads = 0
  const lane = async (): Promise<void> => {
    while (left-- > 0) {
      const answer = await ask(false)
      if (answer.bytes !== answerBytes) throw new Error(`an answer of ${answer.bytes} bytes, not ${answerBytes}`)
      reads += answer.reads
    }
  }
  const before = process.cpuUsage()
  await Promise.all(Array.from({ length: parallel }, lane))
  const { user, system } = process.cpuUsage(before)
  return { microsPerRequest: (user + system) / count, readsPerRequest: reads / count }
}

/** The one in the middle. */
export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[sorted.length >> 1] ?? Number.NaN
}
