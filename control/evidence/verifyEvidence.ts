import { X509Certificate } from 'node:crypto'
import type { AttestationPolicy } from './attestationPolicy.ts'
import { EvidenceError } from './evidenceError.ts'
import { verifyGpus } from './gpuEvidence.ts'
import { ProviderEvidence } from './providerEvidence.ts'
import { isAtLeast, verifySnp } from './snpEvidence.ts'
import { verifyTdx } from './tdxEvidence.ts'
import { rootsOf, type Vendor } from './vendorRoots.ts'

/** The offsets of the signer of the provider's answers and of the nonce in the 64 bytes of report data. */
const NONCE_FROM = 32

/** The facts that evidence proves. */
export interface Verified {
  /** Registers and their values, in lower-case hex. */
  readonly measurements: Readonly<Record<string, string>>
  /** 64 bytes in hex. */
  readonly reportData: string
  /** The state of the platform in words; '' where it was not judged. */
  readonly tcb: string
}

/** The policy, nonce and time that evidence is verified against. */
export interface VerifyOptions {
  readonly policy: AttestationPolicy
  /** The 32 bytes that were sent with the request, in hex. */
  readonly nonce: string
  /** Milliseconds since 1970. */
  readonly nowMs: number
}

/**
 * Verifies a provider's evidence against the requirements of its catalog entry. Pure: the same bytes, nonce and time always
 * give the same answer.
 * @param body the answer of the provider, byte for byte
 * @throws EvidenceError with the reason
 */
export function verifyEvidence(body: Buffer, options: VerifyOptions): Verified {
  const { policy } = options
  const evidence = new ProviderEvidence(body)
  const proved = policy.kind === 'tdx' ? provedByTdx(evidence, options) : provedBySnp(evidence, options)
  const { reportData, ...verified } = proved
  const nonce = Buffer.from(options.nonce, 'hex')
  if (!reportData.subarray(NONCE_FROM).equals(nonce)) {
    throw new EvidenceError('wrong_nonce', 'the report answers another nonce')
  }
  requireMeasurement(verified.measurements, policy)
  if (policy.gpu) verifyGpus(evidence.gpus(), nonce, anchorsOf('nvidia', options))
  return { ...verified, reportData: reportData.toString('hex') }
}

function provedByTdx(evidence: ProviderEvidence, options: VerifyOptions) {
  const { tcbStatuses } = options.policy
  const collateral = tcbStatuses === undefined ? undefined : evidence.tdxCollateral()
  const { registers, reportData, tcb } = verifyTdx(evidence.tdxQuote(), collateral, anchorsOf('intel', options))
  if (tcbStatuses !== undefined && (tcb === null || !tcbStatuses.includes(tcb))) {
    throw new EvidenceError('tcb_too_low', tcb === null ? 'the evidence has no collateral' : `the platform is ${tcb}`)
  }
  return { measurements: registers, reportData, tcb: tcb ?? '' }
}

function provedBySnp(evidence: ProviderEvidence, options: VerifyOptions) {
  const anchors = anchorsOf('amd', options)
  const { registers, reportData, tcb } = verifySnp(evidence.snpReport(), evidence.snpCertificates(), anchors)
  const text = Object.entries(tcb).map(([name, version]) => `${name} ${version}`)
  if (!isAtLeast(tcb, options.policy.minTcb ?? {})) {
    throw new EvidenceError('tcb_too_low', `the platform has ${text.join(', ')}`)
  }
  return { measurements: registers, reportData, tcb: text.join(', ') }
}

function requireMeasurement(measured: Readonly<Record<string, string>>, { measurements }: AttestationPolicy): void {
  const isAllowed = measurements.some((entry) =>
    Object.entries(entry).every(([name, value]) => measured[name] === value),
  )
  if (!isAllowed) throw new EvidenceError('wrong_measurement', 'the machine is none of those that the catalog allows')
}

function anchorsOf(vendor: Vendor, { policy, nowMs }: VerifyOptions) {
  const { testRoot } = policy
  return { roots: testRoot === undefined ? rootsOf(vendor) : [new X509Certificate(testRoot)], nowMs }
}
