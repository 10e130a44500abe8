import { batchJobJson } from '../../../contract/api/batch.ts'
import { GatewayError } from '../../../contract/errors/errors.ts'
import { ownAddress } from '../../../contract/net/ownAddress.ts'
import { BATCH_OWNER } from '../../../contract/wire/redisKeys.ts'
import type { Principal } from '../../access/principal.ts'
import { grantedOutputTokens } from '../../admission/holdSize.ts'
import type { Route } from '../../catalog/pricedItem.ts'
import type { ChatFields } from '../../dialects/shared/chatRequest.ts'
import { type BatchJobs, type BatchSubmission, MAYBE_TAKEN } from '../../jobs/batchJobs.ts'
import { type Exchange, JSON_TYPE } from '../../server/exchange.ts'
import type { UpstreamRequest } from '../../upstream/transport/transport.ts'
import type { Admitted } from '../chat/admit.ts'
import type { StartBatch } from '../chat/chat.ts'
import { type Bill, NO_BILL } from '../run/bill.ts'
import { MeteredRun } from '../run/meteredRun.ts'
import { lastingServices, type RunServices } from '../run/services.ts'

/** Starts batch jobs: requests for chat completions that are answered with a job. */
export function batchStart(batches: BatchJobs): StartBatch {
  return (exchange, principal, request, body, admitted, services) => {
    const { batchBodyBytesMax } = services.limits
    if (body.length > batchBodyBytesMax) {
      const message = `A batch job may have at most ${batchBodyBytesMax} bytes of messages and tools; shorten it.`
      throw new GatewayError('body_too_large', { message })
    }
    new BatchRun(exchange, principal, request, admitted, body, batches, lastingServices(services)).start()
  }
}

/** The submission of a batch job: its hold is taken like any other, and handed over to control with the job. */
class BatchRun extends MeteredRun {
  protected override readonly rate = 'batch'
  private readonly request: ChatFields
  private readonly admitted: Admitted
  private readonly body: Buffer
  private readonly batches: BatchJobs
  private readonly baseUrl: string

  constructor(
    exchange: Exchange,
    principal: Principal,
    request: ChatFields,
    admitted: Admitted,
    body: Buffer,
    batches: BatchJobs,
    services: RunServices,
  ) {
    const { model, routes, size } = admitted
    const { wantUnits, leastUnits } = size
    super(exchange, principal, { endpoint: 'chat', model, routes, wantUnits, leastUnits, streamed: false }, services)
    this.request = request
    this.admitted = admitted
    this.body = body
    this.batches = batches
    this.baseUrl = ownAddress(services.publicUrl, exchange.head.host)
  }

  protected override serve(): void {
    this.handOver().catch((error: unknown) => this.onCrashed(error))
  }

  private async handOver(): Promise<void> {
    const job = this.submission()
    try {
      const taken = await this.batches.submit(job)
      this.ending = true
      this.close()
      this.exchange.answer(202, JSON_TYPE, this.jobJson(taken?.createdAtMs || Date.now(), taken?.webhookSecret ?? ''))
    } catch (error) {
      if (!(error instanceof GatewayError)) throw error
      this.giveUp(error)
      this.failWith(error)
    }
  }

  /** Gives the hold up as soon as Redis takes that, and with it a job that control may have taken before Redis went away. */
  private giveUp(error: GatewayError): void {
    const ending = this.decide('failed', NO_BILL, error.code)
    this.deliver(ending)
    if (error.cause !== MAYBE_TAKEN) return
    this.services.settlements.end({ ...ending, owner: BATCH_OWNER }, this.principal.keys, null)
  }

  private submission(): BatchSubmission {
    const { principal, model, request, exchange } = this
    const { routes, size } = this.admitted
    return {
      requestId: this.requestId,
      accountId: principal.accountId,
      keyId: principal.keyId,
      model: model.id,
      sheetVersion: model.sheet.version,
      coinUsdUnits: model.sheet.coinUsdUnits,
      holdUnits: this.heldUnits,
      heldAtMs: this.heldAtMs,
      startedAtMs: exchange.startedAtMs,
      rates: model.ratesBatch as BatchSubmission['rates'],
      routes: routes.map(({ provider, upstreamModel }) => ({
        provider: provider.id,
        model: upstreamModel,
        limitName: provider.maxTokensField || request.maxTokensName,
      })) as NonNullable<BatchSubmission['routes']>,
      maxTokens: grantedOutputTokens(size, this.heldUnits),
      context: model.context,
      maxOutput: model.maxOutput,
      promptBytes: request.prompt.textBytes,
      promptExtraTokens: request.prompt.images * model.imageTokens,
      body: this.body,
      webhookUrl: request.webhookUrl ?? '',
      approvalId: this.approval?.id ?? '',
      baseUrl: this.baseUrl,
    }
  }

  private jobJson(createdAtMs: number, webhookSecret: string): string {
    const { model, request } = this
    return batchJobJson({
      requestId: this.requestId,
      status: 'submitted',
      model: model.id,
      createdAtMs,
      deadlineMs: createdAtMs + this.services.limits.batchLifetimeMs,
      endedAtMs: null,
      holdUnits: this.heldUnits,
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

  onSettled(): void {
    this.close()
  }

  onSettleDelayed(): void {
    this.close()
  }

  // A job that is being handed over is handed over to its end, whoever waits for the answer: that takes moments.
  onGone(): void {}
  cut(): void {}

  // No provider is asked from here.
  onData(): void {}
  onEnd(): void {}
  onBroken(): void {}
  protected answerBegins(): void {}

  protected makeRequest(route: Route): UpstreamRequest {
    throw new Error(`a batch job asks ${route.id} through control`)
  }

  protected billOfPart(): Bill {
    return NO_BILL
  }
}
