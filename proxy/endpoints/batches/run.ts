import { batchJobJson } from '../../../contract/api/batch.ts'
import { GatewayError } from '../../../contract/errors/errors.ts'
import { ownAddress } from '../../../contract/net/ownAddress.ts'
import { BATCH_OWNER } from '../../../contract/wire/redisKeys.ts'
import type { Principal } from '../../access/principal.ts'
import { grantedOutputTokens, mediaCount } from '../../admission/holdSize.ts'
import type { Provider } from '../../catalog/pricedItem.ts'
import type { ChatFields } from '../../dialects/shared/chatRequest.ts'
import { type Exchange, type HeaderList, JSON_TYPE } from '../../server/exchange.ts'
import type { Admitted } from '../chat/admit.ts'
import type { BatchOrder, StartBatch } from '../chat/chat.ts'
import { droppedBy } from '../chat/droppedHeader.ts'
import { WHOLE } from '../chat/source.ts'
import { NO_BILL } from '../run/bill.ts'
import type { Metered } from '../run/metered.ts'
import { Run } from '../run/run.ts'
import type { RunListener } from '../run/runListener.ts'
import type { RunServices } from '../run/services.ts'
import { type BatchJobs, type BatchSubmission, MAYBE_TAKEN } from './batchJobs.ts'

/** Starts batch jobs: requests for chat completions that are answered with a job. */
export function batchStart(batches: BatchJobs): StartBatch {
  return (exchange, principal, job, services) => {
    const { batchBodyBytesMax } = services.limits
    if (job.body.length > batchBodyBytesMax) {
      const message = `A batch job may have at most ${batchBodyBytesMax} bytes of messages and tools; shorten it.`
      throw new GatewayError('body_too_large', { message })
    }
    // Control takes the hold over and ends it, so the journal does not record it.
    const lasting = { ...services, holds: services.lastingHolds }
    new BatchRun(exchange, principal, job, batches, lasting).start()
  }
}

/** The submission of a batch job: its hold is taken like any other, and handed over to control with the job. */
class BatchRun implements RunListener {
  private readonly run: Run
  private readonly request: ChatFields
  private readonly admitted: Admitted
  private readonly body: Buffer
  private readonly dropped: readonly string[] | undefined
  private readonly batches: BatchJobs
  private readonly baseUrl: string

  constructor(
    exchange: Exchange,
    principal: Principal,
    { request, admitted, body, dropped }: BatchOrder,
    batches: BatchJobs,
    services: RunServices,
  ) {
    const { model, routes, size } = admitted
    const { wantUnits, leastUnits } = size
    const { tagging } = request
    const asked = { endpoint: 'chat', model, routes, wantUnits, leastUnits, streamed: false, tagging } as const
    const metered: Metered = { ...asked, rate: 'batch' }
    this.run = new Run(exchange, principal, metered, services, this)
    this.request = request
    this.admitted = admitted
    this.body = body
    this.dropped = dropped
    this.batches = batches
    this.baseUrl = ownAddress(services.publicUrl, exchange.head.host)
  }

  start(): void {
    this.run.start()
  }

  // A handover always completes, even if the client disconnects; it takes milliseconds.
  serve(heldUnits: number): void {
    this.handOver(heldUnits).catch((error: unknown) => this.run.crash(error))
  }

  private async handOver(heldUnits: number): Promise<void> {
    const { run } = this
    const job = this.submission(heldUnits)
    try {
      const taken = await this.batches.submit(job)
      run.handOver()
      const body = this.jobJson(heldUnits, taken?.createdAtMs || Date.now(), taken?.webhookSecret ?? '')
      const [first] = this.admitted.routes
      run.exchange.answer(202, JSON_TYPE, body, first === undefined ? [] : this.headersFor(first.provider))
    } catch (error) {
      if (!(error instanceof GatewayError)) throw error
      this.giveUp(error)
    }
  }

  private headersFor(provider: Provider): HeaderList {
    return droppedBy(this.request, provider, this.run.services.limits, WHOLE, this.dropped)
  }

  /** Gives up the hold as soon as Redis answers, and with it a job that control may have taken before Redis went down. */
  private giveUp(error: GatewayError): void {
    const { run } = this
    const outcome = run.decide('failed', NO_BILL, error.code)
    run.deliver(outcome)
    if (error.cause === MAYBE_TAKEN) run.hold.endAs(BATCH_OWNER, outcome)
    run.fail(error)
  }

  private submission(heldUnits: number): BatchSubmission {
    const { request } = this
    const { principal, exchange, hold, tagging } = this.run
    const { model, routes, size } = this.admitted
    return {
      requestId: hold.requestId,
      accountId: principal.accountId,
      keyId: principal.keyId,
      model: model.id,
      sheetVersion: model.sheet.version,
      coinUsdUnits: model.sheet.coinUsdUnits,
      holdUnits: heldUnits,
      heldAtMs: hold.heldAtMs,
      startedAtMs: exchange.startedAtMs,
      rates: model.ratesBatch as BatchSubmission['rates'],
      routes: routes.map(({ provider, upstreamModel }) => ({
        provider: provider.id,
        model: upstreamModel,
        limitName: provider.maxTokensField || request.maxTokensName,
      })) as NonNullable<BatchSubmission['routes']>,
      maxTokens: grantedOutputTokens(size, heldUnits),
      context: model.context,
      maxOutput: model.maxOutput,
      promptBytes: request.prompt.textBytes,
      promptExtraTokens: mediaCount(request.prompt) * model.imageTokens,
      body: this.body,
      webhookUrl: request.webhookUrl ?? '',
      approvalId: hold.approvalId,
      baseUrl: this.baseUrl,
      endUser: tagging?.user ?? '',
      tags: tagging?.tags ?? '',
      tagsSalt: tagging?.salt ?? '',
    }
  }

  private jobJson(heldUnits: number, createdAtMs: number, webhookSecret: string): string {
    const { request, run } = this
    const { model } = this.admitted
    return batchJobJson({
      requestId: run.hold.requestId,
      status: 'submitted',
      model: model.id,
      createdAtMs,
      deadlineMs: createdAtMs + run.services.limits.batchLifetimeMs,
      endedAtMs: null,
      holdUnits: heldUnits,
      coinUsdUnits: model.sheet.coinUsdUnits,
      sheetVersion: model.sheet.version,
      rates: model.ratesBatch ?? {},
      error: null,
      receipt: '',
      webhookUrl: request.webhookUrl ?? '',
      webhookSecret,
      baseUrl: this.baseUrl,
    })
  }
}
