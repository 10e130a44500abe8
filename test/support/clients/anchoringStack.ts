import assert from 'node:assert/strict'
import type { Hex } from 'viem'
import { ANCHOR_ABI } from '../../../control/products/settlements/anchorContract.ts'
import { type PaidStack, startPaidStack } from '../paidStack.ts'
import { type TestAccount, until } from '../stack.ts'
import { api } from './apiClient.ts'
import { chat } from './chatClient.ts'

/** A settlement batch as lists show it. */
export interface Batch {
  readonly number: number
  readonly state: string
  readonly contract: string | null
  readonly transaction: Hex | null
  readonly block: number | null
  readonly confirmations: number
  readonly tree_size_from: number
  readonly tree_size: number
  readonly root: string
  readonly receipts: { readonly from: number; readonly until: number }
  readonly logs: ReadonlyArray<{ readonly log: number; readonly from: number; readonly until: number }>
  readonly charged: {
    readonly units: string
    readonly usd: string
    readonly by_asset: ReadonlyArray<{ readonly asset: string; readonly units: string }>
  }
  readonly reserve: {
    readonly block: number
    readonly held: ReadonlyArray<{ readonly asset: string; readonly token_amount: string }>
    readonly held_usd: string
    readonly owed: ReadonlyArray<{ readonly asset: string; readonly amount: string }>
  }
  readonly statement_sha256: string
}
export type WholeBatch = Batch & { readonly statement: string; readonly checkpoint: string; readonly key: string }

export interface Flow {
  readonly id: string
  readonly kind: string
  readonly time: string
  readonly transaction: Hex
  readonly block: number
  readonly confirmations: number
  readonly direction: string | null
  readonly asset: { readonly address: string; readonly symbol: string } | null
  readonly token_amount: string | null
  readonly amount: string | null
}

/** A stack that anchors every second, with an account that has coin. */
export class AnchoringStack {
  readonly paid: PaidStack
  readonly account: TestAccount
  readonly contract: Hex

  private constructor(paid: PaidStack, account: TestAccount) {
    assert.ok(paid.anchor)
    this.paid = paid
    this.account = account
    this.contract = paid.anchor
  }

  static async start(): Promise<AnchoringStack> {
    const quick = { settlementCheckMs: 50, settlementRefusedMs: 200, depositCheckMs: 50 }
    const paid = await startPaidStack({
      settlementSeconds: 1,
      limits: { apiRequestsPerMinute: 600_000, apiRequestBurst: 100_000, ...quick },
    })
    return new AnchoringStack(paid, await paid.stack.createAccount({ coin: '10' }))
  }

  /** The body of a public read. */
  async get<T>(path: string): Promise<T> {
    const { status, text } = await api(this.paid.stack.baseUrl, 'GET', path)
    assert.equal(status, 200, `${path}: ${text}`)
    return JSON.parse(text) as T
  }

  /** All batches, newest first. */
  batches(): Promise<Batch[]> {
    return this.pages<Batch>('/v1/settlements?', ({ number }) => number)
  }

  /** All flows, newest first. @param query ends in & */
  flows(query = ''): Promise<Flow[]> {
    return this.pages<Flow>(`/v1/flows?${query}`, ({ id }) => id)
  }

  /** Has a request served. @returns its id */
  async serve(): Promise<string> {
    const { headers } = await chat(this.paid.stack.baseUrl, this.account.apiKey, { model: 'test/small' })
    return headers.get('x-request-id') ?? ''
  }

  /** Serves a request and waits until a batch has it. @returns the batch and the public receipt */
  async anchored(): Promise<{ batch: WholeBatch; receipt: string; id: string }> {
    const id = await this.serve()
    let [number, receipt] = [0, '']
    await until('the receipt is in a batch that is anchored', async () => {
      receipt = (await api(this.paid.stack.baseUrl, 'GET', `/x402/v1/receipts/${id}`)).text
      const { log } = JSON.parse(receipt) as { log: { number: number; position: number; checkpoint: string | null } }
      const found = (await this.get<{ data: Batch[] }>('/v1/settlements')).data.find(
        ({ state, logs }) =>
          state === 'anchored' &&
          logs.some((range) => range.log === log.number && range.from <= log.position && log.position < range.until),
      )
      number = found?.number ?? 0
      return found !== undefined && log.checkpoint !== null
    })
    return { batch: await this.get<WholeBatch>(`/v1/settlements/${number}`), receipt, id }
  }

  anchoredAll(): Promise<void> {
    return until('every batch is anchored', async () =>
      (await this.batches()).every(({ state }) => state === 'anchored'),
    )
  }

  /** Fails unless each batch of the book is an event of the contract, once and in order, and nothing else is. */
  async assertOnce(): Promise<void> {
    const shown = await this.batches()
    assert.ok(shown.every(({ state }) => state === 'anchored'))
    const call = { abi: ANCHOR_ABI, address: this.contract, eventName: 'Anchored', fromBlock: 0n } as const
    const events = await this.paid.chain.client.getContractEvents(call)
    assert.deepEqual(
      events.map(({ args, transactionHash }) => [Number(args.number), args.root, transactionHash]),
      shown.toReversed().map(({ number, root, transaction }) => [number, `0x${root}`, transaction]),
    )
    assert.deepEqual(
      shown.map(({ number }) => number),
      shown.map((_, at) => shown.length - at),
    )
  }

  private async pages<T>(path: string, cursorOf: (last: T) => unknown): Promise<T[]> {
    const all: T[] = []
    for (let more = true; more; ) {
      const last = all.at(-1)
      const after = last === undefined ? '' : `&after=${cursorOf(last)}`
      const page = await this.get<{ data: T[]; has_more: boolean }>(`${path}limit=20${after}`)
      all.push(...page.data)
      more = page.has_more
    }
    return all
  }
}
