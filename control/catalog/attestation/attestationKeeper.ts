import { randomBytes } from 'node:crypto'
import type { Logger } from 'pino'
import { firstSecret } from '../../../contract/providers/providerKeys.ts'
import { freshReads, reachOfAddress } from '../../../contract/providers/reach.ts'
import { sluice } from '../../../contract/wire/generated/messages.js'
import { newId } from '../../../contract/wire/ids.ts'
import type { Redis } from '../../../contract/wire/redis.ts'
import { policyDigest, policyOf } from '../../evidence/attestationPolicy.ts'
import { EvidenceError } from '../../evidence/evidenceError.ts'
import { verifyEvidence } from '../../evidence/verifyEvidence.ts'
import { type Pool, withTransaction } from '../../runtime/db/pool.ts'
import { logEvent } from '../../runtime/logEvents.ts'
import { Loop } from '../../runtime/loop.ts'
import type { CallHttp } from '../../runtime/net/httpCall.ts'
import type { CatalogLimits } from '../limits.ts'
import { currentRecord } from '../pricing/sheetStore.ts'
import { republishReports } from '../pricing/standingReports.ts'
import { syncCatalog } from '../pricing/syncCatalog.ts'
import { fetchEvidence } from './fetchEvidence.ts'
import { RejectedEvidence } from './rejectedEvidence.ts'
import { forgetRefused, insertReport, lastReport, type StoredReport, type Verdict } from './reportStore.ts'

const NONCE_BYTES = 32
/** The length of a stored reason. */
const REASON_CHARACTERS_MAX = 300

export interface AttestationKeeperParts {
  readonly pool: Pool
  readonly redis: Redis
  readonly log: Logger
  readonly limits: CatalogLimits
  /** Where the providers' keys are. */
  readonly environment: NodeJS.ProcessEnv
  /** Milliseconds since 1970. */
  readonly now?: () => number
  readonly call?: CallHttp
}

/**
 * Asks providers with `attestation` to prove their hardware, keeps their answers, and notifies the proxies through the catalog
 * in force: a verified report is valid until it is too old or a later answer is rejected.
 */
export class AttestationKeeper {
  /** By provider and reason, of this process. */
  readonly rejected: RejectedEvidence = new RejectedEvidence()
  private readonly parts: AttestationKeeperParts
  private readonly now: () => number
  private loop: Loop | undefined

  constructor(parts: AttestationKeeperParts) {
    this.parts = parts
    this.now = parts.now ?? Date.now
  }

  /** Begins to look every limits.evidenceCheckMs whether a provider is due. */
  start(): void {
    const { log, limits } = this.parts
    this.loop = new Loop('attestation', limits.evidenceCheckMs, log, (signal) => this.pass(signal))
  }

  async stop(): Promise<void> {
    await this.loop?.stop()
  }

  /** Asks every provider that is due once. */
  async pass(signal?: AbortSignal): Promise<void> {
    const { pool } = this.parts
    const encoded = await currentRecord(pool)
    if (encoded === undefined) return
    const { providers } = sluice.CatalogRecord.decode(encoded)
    const attested = providers
      .map((provider) => sluice.ProviderRecord.create(provider))
      .filter((one) => one.attestation !== '')
    await Promise.all(
      attested.map(async (provider) => {
        this.rejected.track(provider.id)
        const last = await lastReport(pool, provider.id)
        if (signal?.aborted !== true && this.now() >= this.dueAtMs(provider, last)) await this.attest(provider)
      }),
    )
  }

  private dueAtMs({ attestation }: sluice.ProviderRecord, last: StoredReport | undefined): number {
    const { limits } = this.parts
    if (last === undefined || last.policySha256 !== policyDigest(attestation)) return 0
    const usualMs = Math.min(limits.attestationPollMs, (policyOf(attestation).maxAgeSeconds * 1000) / 2)
    const pauseMs = last.verdict === 'verified' ? usualMs : Math.min(limits.attestationRetryMs, usualMs)
    return last.fetchedAt.getTime() + pauseMs
  }

  private async attest(provider: sluice.ProviderRecord): Promise<void> {
    const { pool, redis, log, limits } = this.parts
    const policy = policyOf(provider.attestation)
    const nonce = randomBytes(NONCE_BYTES).toString('hex')
    const fetchedAtMs = this.now()
    const { evidence, outcome } = await this.answer(provider, nonce)
    const id = newId('att', fetchedAtMs)
    const validUntilMs = fetchedAtMs + (outcome.verdict === 'verified' ? policy.maxAgeSeconds * 1000 : 0)
    const report = {
      id,
      provider: provider.id,
      policy: provider.attestation,
      nonce,
      fetchedAtMs,
      validUntilMs,
      evidence,
    }
    await withTransaction(pool, async (client) => {
      await insertReport(client, { ...report, outcome }, limits)
      await forgetRefused(client, provider.id, this.now() - limits.attestationRefusedKeptMs)
      await republishReports(client, this.now())
    })
    await syncCatalog(pool, redis, limits)
    const told = { provider: provider.id, report: id, demo: policy.testRoot !== undefined }
    if (outcome.verdict === 'verified') logEvent(log, 'provider_attestation_verified', told)
    else {
      this.rejected.note(provider.id, outcome.verdict === 'refused' ? outcome.fault : 'unreachable')
      logEvent(log, 'provider_attestation_rejected', { ...told, ...outcome })
    }
  }

  private async answer(
    provider: sluice.ProviderRecord,
    nonce: string,
  ): Promise<{ evidence: Buffer; outcome: Verdict }> {
    const { environment, limits, call } = this.parts
    const policy = policyOf(provider.attestation)
    const apiKey = firstSecret(provider, environment) ?? ''
    let evidence: Buffer
    try {
      const { reach, isClosed } = reachOfAddress(new URL(policy.url), provider, freshReads(environment))
      if (isClosed) throw new Error('the proxy or the certificates of the provider cannot be read')
      evidence = await fetchEvidence({ url: policy.url, baseUrl: provider.baseUrl, apiKey, nonce, reach }, limits, call)
    } catch (error) {
      return { evidence: Buffer.alloc(0), outcome: { verdict: 'unreachable', reason: reasonOf(error) } }
    }
    try {
      return {
        evidence,
        outcome: { verdict: 'verified', ...verifyEvidence(evidence, { policy, nonce, nowMs: this.now() }) },
      }
    } catch (error) {
      const fault = error instanceof EvidenceError ? error.fault : 'malformed'
      return { evidence, outcome: { verdict: 'refused', fault, reason: reasonOf(error) } }
    }
  }
}

function reasonOf(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error)
  return message.replace(/[^ -~]/g, '?').slice(0, REASON_CHARACTERS_MAX)
}
