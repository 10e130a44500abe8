import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { WebSocket } from 'undici'

const START_TIMEOUT_MS = 5_000
const ANSWER_TIMEOUT_MS = 30_000
const POLL_MS = 20

interface Answer {
  readonly id?: number
  readonly result?: unknown
  readonly error?: { readonly message: string }
}

/** A connection to the inspector of a Node.js process; https://chromedevtools.github.io/devtools-protocol/v8/ */
export class Inspector {
  private readonly socket: WebSocket
  private readonly waiting = new Map<number, { resolve: (result: unknown) => void; reject: (error: Error) => void }>()
  private lastId = 0

  private constructor(socket: WebSocket) {
    this.socket = socket
    socket.addEventListener('message', ({ data }) => this.take(JSON.parse(String(data)) as Answer))
    socket.addEventListener('close', () => {
      for (const { reject } of this.waiting.values()) reject(new Error('the inspector closed its connection'))
      this.waiting.clear()
    })
  }

  /**
   * Makes a process open its inspector and connects to it.
   * @param logFile where the process logs its address
   */
  static async attach(pid: number, logFile: string): Promise<Inspector> {
    process.kill(pid, 'SIGUSR1')
    const socket = new WebSocket(await addressIn(logFile))
    await new Promise<void>((resolve, reject) => {
      socket.addEventListener('open', () => resolve())
      socket.addEventListener('error', () => reject(new Error(`no connection to the inspector of process ${pid}`)))
    })
    return new Inspector(socket)
  }

  /** Calls a method and resolves with its result. */
  async call<Result>(method: string, params: Record<string, unknown> = {}): Promise<Result> {
    const id = ++this.lastId
    let timer: NodeJS.Timeout | undefined
    const answer = new Promise<unknown>((resolve, reject) => {
      timer = setTimeout(() => reject(new Error(`${method}: no answer of the inspector`)), ANSWER_TIMEOUT_MS)
      this.waiting.set(id, { resolve, reject })
    })
    this.socket.send(JSON.stringify({ id, method, params }))
    return (await answer.finally(() => {
      clearTimeout(timer)
      this.waiting.delete(id)
    })) as Result
  }

  close(): void {
    this.socket.close()
  }

  private take({ id, result, error }: Answer): void {
    const waiter = id === undefined ? undefined : this.waiting.get(id)
    if (error !== undefined) waiter?.reject(new Error(error.message))
    else waiter?.resolve(result)
  }
}

async function addressIn(logFile: string): Promise<string> {
  for (const untilMs = Date.now() + START_TIMEOUT_MS; Date.now() < untilMs; await sleep(POLL_MS)) {
    const found = /Debugger listening on (ws:\S+)/.exec(readFileSync(logFile, 'utf8'))
    if (found?.[1] !== undefined) return found[1]
  }
  throw new Error(`the process logs no address of its inspector in ${logFile}`)
}
