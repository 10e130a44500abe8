import { isUtf8 } from 'node:buffer'
import { EvidenceError, malformed } from './evidenceError.ts'
import { parseEvidence } from './evidenceJson.ts'
import { GPUS_MAX, type GpuEvidence } from './gpuEvidence.ts'
import type { TdxCollateral } from './tdxEvidence.ts'

/**
 * How long the texts of evidence may be, in characters, before they are decoded: some times the length of honest ones. A list
 * of revoked certificates has thousands of entries at most.
 */
const CHARACTERS_MAX = {
  intel_quote: 131_072,
  snp_report: 8_192,
  snp_certificates: 65_536,
  tcb_info: 262_144,
  tcb_info_signature: 1_024,
  tcb_info_issuer_chain: 65_536,
  root_ca_crl: 262_144,
  pck_crl: 262_144,
  certificate: 131_072,
  evidence: 131_072,
} as const
type Field = keyof typeof CHARACTERS_MAX

const HEX = /^(0x)?([0-9a-fA-F]{2})+$/
const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/

/** The members of a provider's answer. */
export class ProviderEvidence {
  private readonly members: Readonly<Record<string, unknown>>

  /** @param body JSON. @throws EvidenceError malformed */
  constructor(body: Buffer) {
    // It is shown as text, whose hash has to be that of the bytes.
    if (!isUtf8(body)) malformed('the evidence is not UTF-8')
    this.members = objectOf(parseEvidence(body, 'the evidence'), 'the evidence')
  }

  /** A TDX quote: hex or base64 in `intel_quote`. @throws EvidenceError malformed */
  tdxQuote(): Buffer {
    return bytesOf(this.members['intel_quote'], 'intel_quote')
  }

  /** The data for judging the state of a TDX platform, in `collateral`, as Intel's PCS serves it; undefined when absent. */
  tdxCollateral(): TdxCollateral | undefined {
    if (this.members['collateral'] === undefined || this.members['collateral'] === null) return undefined
    const collateral = objectOf(this.members['collateral'], 'collateral')
    const signature = bytesOf(collateral['tcb_info_signature'], 'tcb_info_signature')
    const tcbInfo = {
      text: textOf(collateral['tcb_info'], 'tcb_info'),
      signature,
      issuerChain: textOf(collateral['tcb_info_issuer_chain'], 'tcb_info_issuer_chain'),
    }
    const revocationLists = (['root_ca_crl', 'pck_crl'] as const).map((name) => bytesOf(collateral[name], name))
    return { tcbInfo, revocationLists }
  }

  /** An SEV-SNP report, hex or base64 in `snp_report`. @throws EvidenceError malformed */
  snpReport(): Buffer {
    return bytesOf(this.members['snp_report'], 'snp_report')
  }

  /** The certificates of the chip, as PEM. @throws EvidenceError malformed */
  snpCertificates(): string {
    return textOf(this.members['snp_certificates'], 'snp_certificates')
  }

  /** Evidence of GPUs, in `nvidia_payload`: an object, or one as JSON text. @throws EvidenceError malformed, gpu_missing */
  gpus(): GpuEvidence[] {
    const payload = this.members['nvidia_payload']
    if (payload === undefined || payload === null || payload === '') {
      throw new EvidenceError('gpu_missing', 'the evidence has no nvidia_payload')
    }
    const content = objectOf(
      typeof payload === 'string' ? parseEvidence(Buffer.from(payload), 'nvidia_payload') : payload,
      'nvidia_payload',
    )
    const list = content['evidence_list']
    if (!Array.isArray(list)) malformed('nvidia_payload has no evidence_list')
    if (list.length > GPUS_MAX) malformed(`there is evidence of more than ${GPUS_MAX} GPUs`)
    return list.map((entry: unknown) => {
      const gpu = objectOf(entry, 'an entry of evidence_list')
      const certificates = bytesOf(gpu['certificate'], 'certificate').toString('latin1')
      return { messages: bytesOf(gpu['evidence'], 'evidence'), certificates }
    })
  }
}

function objectOf(value: unknown, name: string): Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) malformed(`${name} is not an object`)
  return value as Record<string, unknown>
}

/** The text of a field, of a length that may be read. @throws EvidenceError malformed */
function textOf(value: unknown, name: Field): string {
  if (typeof value !== 'string' || value === '') malformed(`the evidence has no ${name}`)
  if (value.length > CHARACTERS_MAX[name]) malformed(`${name} has more than ${CHARACTERS_MAX[name]} characters`)
  return value
}

function bytesOf(value: unknown, name: Field): Buffer {
  const text = textOf(value, name).trim()
  if (HEX.test(text)) return Buffer.from(text.replace(/^0x/, ''), 'hex')
  if (!BASE64.test(text)) malformed(`${name} is neither hex nor base64`)
  return Buffer.from(text, 'base64')
}
