import { createHash } from 'node:crypto'
import type { SnpTcb } from './snpReport.ts'
import type { TcbStatus } from './tcbInfo.ts'

/** The kinds of hardware whose evidence is verified. */
export type AttestationKind = 'tdx' | 'sev-snp'

/** The proof that a provider needs before it gets requests of the private tier; the catalog's `attestation` of a provider. */
export interface AttestationPolicy {
  /** The address of its evidence. */
  readonly url: string
  readonly kind: AttestationKind
  /** Allowed machines: registers and their values, in lower-case hex. A machine has to match all registers of one entry. */
  readonly measurements: ReadonlyArray<Readonly<Record<string, string>>>
  /** The time for which evidence counts, in seconds. */
  readonly maxAgeSeconds: number
  /** Of TDX: the statuses that are accepted. Absent asks for no collateral. */
  readonly tcbStatuses?: readonly TcbStatus[]
  /** Of SEV-SNP: the least versions. */
  readonly minTcb?: Partial<SnpTcb>
  /** Whether evidence of GPUs is asked for. */
  readonly gpu: boolean
  /** A root in place of the vendors', as PEM: for tests and demos, whose evidence proves nothing. */
  readonly testRoot?: string
}

/** A policy as it is kept: equal ones give equal texts. */
export function policyText(policy: AttestationPolicy): string {
  return JSON.stringify(policy)
}

/** Reads what `policyText` has written. */
export function policyOf(text: string): AttestationPolicy {
  return JSON.parse(text) as AttestationPolicy
}

/** The identifier of a policy: SHA-256 of its text, in hex. */
export function policyDigest(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}
