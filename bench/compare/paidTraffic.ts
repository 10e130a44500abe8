import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { x402Client } from '@x402/core/client'
import { ExactEvmScheme } from '@x402/evm/exact/client'
import { wrapFetchWithPayment } from '@x402/fetch'
import { type DemoChain, startDemoChain } from '../../control/launch/chain/demoChain.ts'
import { devClient } from '../../control/launch/chain/deploy.ts'
import { cpuMicros } from '../cpu.ts'
import { limits } from '../limits.ts'
import { newPayers, type Wallet } from '../payers.ts'
import type { Stack } from '../targets/stack.ts'

/** A wallet has one payment at a time on its way. */
const WALLETS = 8
const MAX_TOKENS = 100
const WAIT_MS = 60_000
const POLL_MS = 50

/** The fields of a paid request's public receipt for its unused amount. */
interface PaidReceipt {
  readonly paid: { readonly refund: { readonly transaction: string | null } | null; readonly credit: object | null }
}

/** Requests that wallets pay for by x402, to one stack with its own development chain. */
export class PaidTraffic {
  /** Requests that were served so far; each has a receipt in the book. */
  served = 0
  private readonly chain: DemoChain
  private readonly payers: readonly (typeof fetch)[]

  private constructor(chain: DemoChain, wallets: readonly Wallet[]) {
    this.chain = chain
    this.payers = wallets.map((wallet) => {
      const client = new x402Client().register('eip155:*', new ExactEvmScheme(wallet)).setSpendControls(false)
      return wrapFetchWithPayment(fetch, client)
    })
  }

  /**
   * Starts a chain with wallets that have money.
   * @param stops receives the function that ends it
   */
  static async start(stops: (() => Promise<void>)[]): Promise<PaidTraffic> {
    const folder = mkdtempSync(join(tmpdir(), 'sluice-bench-chain-'))
    stops.push(async () => rmSync(folder, { recursive: true, force: true }))
    const chain = await startDemoChain(folder, join(folder, 'chain.log'), limits)
    stops.push(() => chain.node.process.stop())
    return new PaidTraffic(chain, await newPayers(devClient(chain.node.rpcUrl), chain.contracts.stablecoin, WALLETS))
  }

  /** Has every program that a stack starts from now on take payments on this chain. */
  enter(): void {
    Object.assign(process.env, this.chain.env)
  }

  /**
   * Pays for requests and waits until each is booked and its unused amount is refunded.
   * @param model by the name of the catalog
   * @returns CPU time of the proxy, Redis and control per request, its quote, settlement and refund included
   * @throws Error when a request was not served
   */
  async microsPerRequest(stack: Stack, model: string, requests: number): Promise<number> {
    // Control is the first of them; the set of PostgreSQL's backends changes.
    const [control = 0] = stack.backgroundPids()
    const pids = [...stack.proxy.pids, stack.redisPid, control]
    const cpu = () => pids.reduce((sum, pid) => sum + cpuMicros(pid), 0)
    const before = cpu()
    let left = requests
    const ids: string[] = []
    await Promise.all(
      this.payers.map(async (pay) => {
        while (left-- > 0) ids.push(await this.request(pay, stack, model))
      }),
    )
    for (const id of ids) await this.refunded(stack, id)
    await stack.booked()
    return (cpu() - before) / requests
  }

  /** Waits until a stack that was started on this chain takes payments. */
  async taken(stack: Stack, model: string): Promise<void> {
    for (const untilMs = Date.now() + WAIT_MS; Date.now() < untilMs; await sleep(POLL_MS)) {
      const quote = await fetch(`${paidUrl(stack)}/chat/completions`, requestOf(model))
      await quote.arrayBuffer()
      if (quote.status === 402) return
    }
    throw new Error(`no payments are taken after ${WAIT_MS} ms`)
  }

  private async request(pay: typeof fetch, stack: Stack, model: string): Promise<string> {
    const answer = await pay(`${paidUrl(stack)}/chat/completions`, requestOf(model))
    if (!answer.ok) throw new Error(`a paid request was answered ${answer.status}: ${await answer.text()}`)
    this.served++
    const { id } = (await answer.json()) as { id: string }
    return id
  }

  private async refunded(stack: Stack, id: string): Promise<void> {
    for (const untilMs = Date.now() + WAIT_MS; Date.now() < untilMs; await sleep(POLL_MS)) {
      const response = await fetch(`${paidUrl(stack)}/receipts/${id}`)
      const text = await response.text()
      if (!response.ok) continue
      const { paid } = JSON.parse(text) as PaidReceipt
      const isKept = paid.refund === null && paid.credit !== null
      if (isKept || typeof paid.refund?.transaction === 'string') return
    }
    throw new Error(`what ${id} did not use has not gone back after ${WAIT_MS} ms`)
  }
}

function requestOf(model: string): RequestInit {
  const messages = [{ role: 'user', content: 'hello' }]
  const body = JSON.stringify({ model, max_tokens: MAX_TOKENS, messages })
  return { method: 'POST', headers: { 'content-type': 'application/json' }, body }
}

function paidUrl(stack: Stack): string {
  return `http://127.0.0.1:${stack.proxy.port}/x402/v1`
}
