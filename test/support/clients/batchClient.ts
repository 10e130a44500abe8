import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { createServer, type IncomingMessage, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { batchIdOf } from '../../../contract/api/batch.ts'
import type { BatchEntry } from '../../../mock/main.ts'
import { requestOf } from '../attempts.ts'
import type { TokenPrices } from '../reconcile.ts'
import { chargeOf } from '../reconcile.ts'
import { type Stack, until } from '../stack.ts'
import { type ApiAnswer, api } from './apiClient.ts'
import type { Receipt } from './chatClient.ts'

/** A price with batch rates: half of the others. */
export const BATCH_PRICE = {
  input: '1',
  output: '2',
  cached_input: '0.5',
  batch_input: '0.5',
  batch_output: '1',
  batch_cached_input: '0.25',
}
export const BATCH_PRICES: TokenPrices = { input: 500, cached: 250, output: 1_000 }

/** A provider that takes batches. */
export const BATCHING = { id: 'mock', batch: true }

export interface BatchJob {
  readonly object: string
  readonly id: string
  readonly status: 'submitted' | 'done' | 'failed' | 'expired'
  readonly rate: string
  readonly request_id: string
  readonly hold: { units: string; usd: string; coin: string }
  readonly price: Record<string, unknown>
  readonly poll: string
  readonly result: string
  readonly error: { code: string; message: string } | null
  readonly receipt: Receipt | null
  readonly expires_at: number
  readonly created_at: number
  readonly webhook?: { url: string; secret: string }
}

/** Sends a chat completion with `batch: true`. */
export function submit(stack: Stack, apiKey: string, body: object, headers = {}): Promise<ApiAnswer<BatchJob>> {
  const request = { messages: [{ role: 'user', content: 'hello' }], batch: true, ...body }
  return api<BatchJob>(stack.baseUrl, 'POST', '/v1/chat/completions', { token: apiKey, body: request, headers })
}

/** As `submit`, for a job that has to be taken. */
export async function submitted(stack: Stack, apiKey: string, body: object): Promise<BatchJob> {
  const answer = await submit(stack, apiKey, body)
  assert.equal(answer.status, 202, answer.text)
  return answer.body
}

/** Waits until a job is over. */
export async function ended(stack: Stack, apiKey: string, job: BatchJob): Promise<BatchJob> {
  let last = job
  await until(`${job.id} is over`, async () => {
    const answer = await api<BatchJob>(stack.baseUrl, 'GET', job.poll, { token: apiKey })
    if (answer.status === 200) last = answer.body
    return last.status !== 'submitted'
  })
  return last
}

/** The mock provider's own book of batches. */
export async function upstreamBatches(stack: Stack): Promise<BatchEntry[]> {
  const response = await fetch(`http://127.0.0.1:${stack.provider.port()}/_batches`)
  const jobOf = (customId: string) => batchIdOf(requestOf(customId))
  return ((await response.json()) as BatchEntry[]).map((batch) => ({
    ...batch,
    custom_ids: batch.custom_ids.map(jobOf),
    billed: batch.billed.map((line) => ({ ...line, custom_id: jobOf(line.custom_id) })),
  }))
}

/** Asserts that a job was run once, and is charged what the provider billed for it. */
export function assertBatchReconciled(job: BatchJob, batches: readonly BatchEntry[]): void {
  const sent = batches.filter((batch) => batch.custom_ids.includes(job.id))
  assert.equal(sent.length, 1, `${job.id} was sent ${sent.length} times`)
  const billed = batches.flatMap((batch) => batch.billed).filter((line) => line.custom_id === job.id)
  assert.equal(billed.length, 1, `${job.id} was billed ${billed.length} times`)
  const usage = billed[0]?.usage ?? assert.fail('no usage was reported')
  assert.equal(job.receipt?.cost.units, String(chargeOf(usage, BATCH_PRICES)))
}

export interface ReceivedHook {
  readonly id: string
  readonly timestamp: string
  readonly signature: string
  readonly body: string
}

/** A receiver of webhooks that answers as it is told. */
export class HookReceiver {
  readonly received: ReceivedHook[] = []
  status = 200
  /** It reads and does not answer. */
  hang = false
  private readonly server: Server

  private constructor(server: Server) {
    this.server = server
    server.on('request', (req: IncomingMessage, res) => {
      void text(req).then((body) => {
        const header = (name: string): string => String(req.headers[name] ?? '')
        const [id, timestamp, signature] = ['webhook-id', 'webhook-timestamp', 'webhook-signature'].map(header)
        this.received.push({ id: id ?? '', timestamp: timestamp ?? '', signature: signature ?? '', body })
        if (!this.hang) res.writeHead(this.status).end('ok')
      })
    })
  }

  static start(): Promise<HookReceiver> {
    const server = createServer()
    return new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(new HookReceiver(server))))
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}/hook`
  }

  stop(): void {
    this.server.closeAllConnections()
    this.server.close()
  }
}

/** Asserts that a webhook is signed by this secret, as the Standard Webhooks say. */
export function assertSigned({ id, timestamp, signature, body }: ReceivedHook, secret: string): void {
  const key = Buffer.from(secret.slice('whsec_'.length), 'base64')
  const expected = createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64')
  assert.equal(signature, `v1,${expected}`)
}
