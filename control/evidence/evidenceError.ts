/** Why evidence is refused. The names are shown to clients, so that they stay. */
export const EVIDENCE_FAULTS = [
  'malformed',
  'unknown_root',
  'certificate_expired',
  'revoked',
  'bad_signature',
  'wrong_nonce',
  'wrong_measurement',
  'debug',
  'tcb_too_low',
  'gpu_missing',
] as const
export type EvidenceFault = (typeof EVIDENCE_FAULTS)[number]

/** Evidence that proves nothing; the message says what is wrong with it. */
export class EvidenceError extends Error {
  override readonly name = 'EvidenceError'
  readonly fault: EvidenceFault

  constructor(fault: EvidenceFault, message: string) {
    super(message)
    this.fault = fault
  }
}

/** @throws EvidenceError malformed */
export function malformed(message: string): never {
  throw new EvidenceError('malformed', message)
}
