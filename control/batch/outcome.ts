import { answerError } from '../../contract/api/answerError.ts'
import { type Completion, completionText, isErrorAnswer, outputBytes } from '../../contract/api/completion.ts'
import { repairCompletion } from '../../contract/api/repairCompletion.ts'
import { modelRates } from '../../contract/catalog/catalog.ts'
import { chargeUnits, NO_USAGE, type TokenUsage } from '../../contract/money/charge.ts'
import { estimateUsage, mendedUsage } from '../../contract/money/estimate.ts'
import { usageBounds } from '../../contract/money/openaiUsage.ts'
import { type ReceiptFields, receiptJson } from '../../contract/money/receipt.ts'
import { usageOfAnswer } from '../../contract/money/usageReports.ts'
import { shownMessage } from '../../contract/providers/cleanMessage.ts'
import { providerErrorOf } from '../../contract/providers/providerError.ts'
import { sluice } from '../../contract/wire/generated/messages.js'
import { namesOf, USAGE_SOURCE } from '../../contract/wire/settlementNames.ts'
import type { JobRow, Outcome } from './jobRow.ts'

const DURATION_MS_MAX = 2 ** 31 - 1
const MESSAGE_CHARACTERS_MAX = 1_000
/** Of an error in place of a completion, which has no status. */
const LINE_STATUS = 400
const USAGE_SOURCE_NAMES = namesOf(USAGE_SOURCE)

/** The decided outcome of a job: its charge, and the result for its owner. */
export interface Decision {
  readonly outcome: Outcome
  readonly chargeUnits: number
  readonly settlement: Buffer
  /** The completion without its receipt; null without a completion. */
  readonly result: string | null
  readonly errorMessage: string
  /** The usage that the provider reported contradicts itself. */
  readonly contradicts?: true
}

/**
 * Decides a job by a provider's answer: done, charged by its usage at the rates of the job and never beyond its hold;
 * or failed, when the answer is not a completion.
 * @param answer the parsed body of status 200
 * @param outputFromTotal see UsageBounds
 */
export function decideAnswer(job: JobRow, answer: Completion, nowMs: number, outputFromTotal = false): Decision {
  try {
    return priced(job, answer, nowMs, outputFromTotal)
  } catch (error) {
    // Nested too deep to be encoded, say. One answer must not block the others of its batch.
    if (!(error instanceof RangeError || error instanceof TypeError)) throw error
    return decideFailure(job, 'failed', 'The answer of the provider cannot be read.', nowMs)
  }
}

function priced(job: JobRow, answer: Completion, nowMs: number, outputFromTotal: boolean): Decision {
  if (isErrorAnswer(answer)) return decideFailure(job, 'failed', errorText(answerError(answer)), nowMs)
  if (!repairCompletion(answer, job.id, nowMs)) return decideFailure(job, 'failed', errorText(null), nowMs)
  const reported = usageOfAnswer(answer, usageBounds(job.context, job.maxOutput, outputFromTotal))
  const usage = mendedUsage(reported, estimated(job, answer), false)
  const isReported = reported !== null && reported.missing === undefined
  const rates = modelRates(sluice.Rates.decode(job.rates))
  const due = chargeUnits(rates, usage)
  const charge = Math.min(due, job.holdUnits)
  const settlement = encode(job, nowMs, {
    status: sluice.Status.OK,
    chargeUnits: charge,
    usage: usageMessage(usage),
    usageSource: isReported ? sluice.UsageSource.REPORTED : sluice.UsageSource.ESTIMATED,
    clamped: due > job.holdUnits,
  })
  const identity = { requestId: job.id, modelId: job.model, object: 'chat.completion' }
  const result = completionText(answer, identity, usage, '')
  const contradicts = reported?.contradicts === true && { contradicts: true as const }
  return { outcome: 'done', chargeUnits: charge, settlement, result, errorMessage: '', ...contradicts }
}

/** A job that ends without a result, which charges nothing. @param reason for its owner, or '' */
export function decideFailure(job: JobRow, outcome: 'failed' | 'expired', reason: string, nowMs: number): Decision {
  const errorCode = outcome === 'failed' ? 'batch_failed' : 'batch_expired'
  const settlement = encode(job, nowMs, { status: sluice.Status.FAILED, errorCode })
  const errorMessage = reason.slice(0, MESSAGE_CHARACTERS_MAX)
  return { outcome, chargeUnits: 0, settlement, result: null, errorMessage }
}

/** A job whose hold was lost is not run, because its charge could not be collected. */
export function decideNotHeld(job: JobRow, nowMs: number): Decision {
  return decideFailure(job, 'failed', 'The hold of the job was lost, so it was not run.', nowMs)
}

/**
 * The message of a provider's error for the owner of the job, without anything about our account there.
 * @param status of the line; absent for one without
 */
export function errorText(error: unknown, status: number = LINE_STATUS): string {
  return shownMessage(status, providerErrorOf({ error })) || 'The provider answered without a completion.'
}

/**
 * The receipt of a job that is over, as JSON text: the same that the book shows.
 * @param chargedUnits the amount that was actually charged
 */
export function receiptOf(job: JobRow, chargedUnits: number): string {
  const told = sluice.Settlement.decode(job.settlement ?? Buffer.alloc(0))
  const usage = told.usage ?? {}
  const fields: ReceiptFields = {
    requestId: job.id,
    status: told.status === sluice.Status.OK ? 'ok' : 'failed',
    model: job.model,
    endpoint: 'chat',
    sheetVersion: job.sheetVersion,
    rate: 'batch',
    tier: 'standard',
    costUnits: chargedUnits,
    holdUnits: job.holdUnits,
    coinUsdUnits: job.coinUsdUnits,
    usage: {
      input: usage.input ?? 0,
      cachedInput: usage.cachedInput ?? 0,
      cacheWrite5m: usage.cacheWrite_5m ?? 0,
      cacheWrite1h: usage.cacheWrite_1h ?? 0,
      output: usage.output ?? 0,
      reasoning: usage.reasoning ?? 0,
    },
    quantity: 0,
    unit: '',
    size: '',
    attestation: '',
    usageSource: USAGE_SOURCE_NAMES.get(told.usageSource) ?? 'none',
    clamped: told.clamped,
    streamed: false,
    createdMs: job.heldAtMs,
    durationMs: told.durationMs,
    firstByteMs: 0,
    tries: 0,
    errorCode: told.errorCode === '' ? null : told.errorCode,
    ...(job.tagsSalt !== '' && { tagging: { user: job.endUser, tags: job.tags, salt: job.tagsSalt } }),
  }
  return receiptJson(fields)
}

function estimated(job: JobRow, answer: Completion): TokenUsage {
  return estimateUsage({
    promptBytes: job.promptBytes,
    promptExtraTokens: job.promptExtraTokens,
    frames: 1,
    outputBytes: outputBytes(answer),
    outputTokensMax: job.maxTokens,
  })
}

function encode(job: JobRow, nowMs: number, ending: Partial<sluice.Settlement.$Properties>): Buffer {
  const message = {
    requestId: job.id,
    accountId: job.accountId,
    keyId: job.keyId,
    model: job.model,
    endpoint: 'chat',
    provider: job.provider,
    sheetVersion: job.sheetVersion,
    rate: sluice.Rate.BATCH_RATE,
    endUser: job.endUser,
    tags: job.tags,
    tagsSalt: job.tagsSalt,
    holdUnits: job.holdUnits,
    usage: usageMessage(NO_USAGE),
    startedAtMs: job.startedAtMs,
    durationMs: Math.min(Math.max(0, nowMs - job.startedAtMs), DURATION_MS_MAX),
    ...ending,
  }
  return Buffer.from(sluice.Settlement.encode(message).finish())
}

function usageMessage(usage: TokenUsage): sluice.Usage.$Properties {
  const { input, cachedInput, cacheWrite5m, cacheWrite1h, output, reasoning } = usage
  return { input, cachedInput, cacheWrite_5m: cacheWrite5m, cacheWrite_1h: cacheWrite1h, output, reasoning }
}
