import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'

interface Call {
  readonly id: number
  readonly method: string
  readonly params?: unknown[]
}

interface Answer {
  readonly id: number
  readonly result?: unknown
  readonly error?: { code: number; message: string }
}

/** Stands between the gateway and a node, to go wrong where a test wants it. */
export class RpcProxy {
  readonly url: string
  /** Connections are broken off. */
  down = false
  /** Methods whose calls never reach the node; an error is answered. */
  readonly refused = new Set<string>()
  /** Methods whose calls reach the node and whose answers are lost. */
  readonly lost = new Set<string>()
  /** What a call has to wait for before it reaches the node, with those that travel with it. */
  held: ((call: Call) => Promise<void> | undefined) | undefined
  /** What happens once after the node has answered a method, before the gateway reads the answer. */
  readonly meanwhile = new Map<string, () => Promise<void>>()
  /** What the gateway is answered in place of what the node has answered to a call. */
  altered: ((call: Call, answer: Answer) => Answer) | undefined
  /** Methods in the order they were called. */
  readonly calls: string[] = []
  private readonly server: Server

  private constructor(server: Server) {
    this.server = server
    this.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  }

  static async start(target: string): Promise<RpcProxy> {
    let proxy: RpcProxy | undefined
    const server = createServer((request, response) => {
      const parts: Buffer[] = []
      request.on('data', (part: Buffer) => parts.push(part))
      request.on('end', async () => {
        const body = Buffer.concat(parts).toString('utf8')
        const answer = await proxy?.answer(target, body)
        if (answer === undefined) response.destroy()
        else response.setHeader('content-type', 'application/json').end(answer)
      })
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    proxy = new RpcProxy(server)
    return proxy
  }

  stop(): Promise<void> {
    this.server.closeAllConnections()
    return new Promise((resolve) => this.server.close(() => resolve()))
  }

  /** Passes everything on again as it is. */
  mend(): void {
    this.down = false
    this.altered = undefined
    this.held = undefined
    this.refused.clear()
    this.lost.clear()
  }

  private async answer(target: string, body: string): Promise<string | undefined> {
    if (this.down) return undefined
    const parsed = JSON.parse(body) as Call | Call[]
    const calls = Array.isArray(parsed) ? parsed : [parsed]
    for (const { method } of calls) this.calls.push(method)
    await Promise.all(calls.map((call) => this.held?.(call)))
    const refused = calls.filter(({ method }) => this.refused.has(method))
    const passed = calls.filter(({ method }) => !this.refused.has(method))
    const answers: unknown[] = refused.map(({ id }) => ({ jsonrpc: '2.0', id, error: { code: -32000, message: 'no' } }))
    if (passed.length > 0) {
      const headers = { 'content-type': 'application/json' }
      const response = await fetch(target, { method: 'POST', headers, body: JSON.stringify(passed) }).catch(
        () => undefined,
      )
      if (response === undefined) return undefined
      const given = (await response.json()) as Answer[]
      answers.push(...passed.map((call) => this.alter(call, given)))
    }
    for (const { method } of passed) {
      const happens = this.meanwhile.get(method)
      this.meanwhile.delete(method)
      await happens?.()
    }
    if (calls.some(({ method }) => this.lost.has(method))) return undefined
    return JSON.stringify(Array.isArray(parsed) ? answers : answers[0])
  }

  private alter(call: Call, given: readonly Answer[]): Answer {
    const answer = given.find(({ id }) => id === call.id) ?? { id: call.id }
    return this.altered?.(call, answer) ?? answer
  }
}
