import { malformed } from './evidenceError.ts'
import { FieldReader } from './fieldReader.ts'

// Intel TDX DCAP Quoting Library API, appendix 3: "Quote format", version 4 (A.3) and 5 (A.4).
const HEADER_BYTES = 48
const ECDSA_P256 = 2
const TEE_TDX = 0x81
const INTEL_VENDOR = '939a7233f79c4ca9940a0db3957f0607'
/** Bodies by their type in version 5, in bytes. */
const TD_10 = { type: 2, bytes: 584 }
const TD_15 = { type: 3, bytes: 648 }
/** Types of certification data: the report of the quoting enclave, which holds the chain of PCK certificates as PEM. */
const QE_REPORT = 6
const PCK_CHAIN = 5
const QE_REPORT_BYTES = 384

/** Names of the registers of 48 bytes that a trust domain is known by. */
export const TDX_REGISTERS = [
  'mrtd',
  'mrconfigid',
  'mrowner',
  'mrownerconfig',
  'rtmr0',
  'rtmr1',
  'rtmr2',
  'rtmr3',
] as const
export type TdxRegister = (typeof TDX_REGISTERS)[number]

/** A quote of a trust domain. */
export interface TdxQuote {
  readonly teeTcbSvn: Buffer
  readonly mrSignerSeam: Buffer
  readonly seamAttributes: Buffer
  readonly tdAttributes: Buffer
  readonly registers: Readonly<Record<TdxRegister, Buffer>>
  /** 64 bytes. */
  readonly reportData: Buffer
  /** Of a body of TDX 1.5; empty otherwise. */
  readonly mrServiceTd: Buffer
  /** Header and body, which the attestation key signs. */
  readonly signed: Buffer
  /** r and s, 32 bytes each. */
  readonly signature: Buffer
  /** x and y, 32 bytes each. */
  readonly attestationKey: Buffer
  readonly qeReport: Buffer
  readonly qeReportSignature: Buffer
  readonly qeAuthData: Buffer
  /** The leaf first. */
  readonly pckChainPem: string
}

/** Reads a quote of version 4 or 5; nothing of it is verified. @throws EvidenceError malformed */
export function readTdxQuote(bytes: Buffer): TdxQuote {
  const reader = new FieldReader(bytes, 'the TDX quote')
  const version = readHeader(reader)
  const isLong = version === 5 ? readBodyHead(reader) : false
  const body = readBody(reader, isLong)
  const signed = bytes.subarray(0, reader.position)
  const signatureBytes = reader.u32('the length of the signature data')
  const signature = readSignature(
    new FieldReader(reader.take('the signature data', signatureBytes), 'the signature data'),
  )
  reader.finish()
  return { ...body, signed, ...signature }
}

/** @returns the version */
function readHeader(reader: FieldReader): number {
  const version = reader.u16('the version')
  if (version !== 4 && version !== 5) malformed(`the quote has the version ${version}, not 4 or 5`)
  if (reader.u16('the type of the key') !== ECDSA_P256) malformed('the quote is not signed by ECDSA P-256')
  if (reader.u32('the type of the TEE') !== TEE_TDX) malformed('the quote is not of TDX')
  reader.take('reserved bytes', 4)
  if (reader.take('the vendor', 16).toString('hex') !== INTEL_VENDOR) malformed("the quote is not of Intel's enclave")
  reader.take('user data', HEADER_BYTES - reader.position)
  return version
}

/** @returns whether the body is that of TDX 1.5 */
function readBodyHead(reader: FieldReader): boolean {
  const type = reader.u16('the type of the body')
  const bytes = reader.u32('the length of the body')
  const found = [TD_10, TD_15].find((known) => known.type === type && known.bytes === bytes)
  if (found === undefined) malformed(`the quote has a body of type ${type} and ${bytes} bytes`)
  return found === TD_15
}

function readBody(reader: FieldReader, isLong: boolean) {
  const teeTcbSvn = reader.take('TEE_TCB_SVN', 16)
  reader.take('MRSEAM', 48)
  const mrSignerSeam = reader.take('MRSIGNERSEAM', 48)
  const seamAttributes = reader.take('SEAMATTRIBUTES', 8)
  const tdAttributes = reader.take('TDATTRIBUTES', 8)
  reader.take('XFAM', 8)
  const registers = Object.fromEntries(TDX_REGISTERS.map((name) => [name, reader.take(name, 48)]))
  const reportData = reader.take('REPORTDATA', 64)
  if (isLong) reader.take('TEE_TCB_SVN_2', 16)
  return {
    teeTcbSvn,
    mrSignerSeam,
    seamAttributes,
    tdAttributes,
    registers: registers as Record<TdxRegister, Buffer>,
    reportData,
    mrServiceTd: isLong ? reader.take('MRSERVICETD', 48) : Buffer.alloc(0),
  }
}

function readSignature(reader: FieldReader) {
  const signature = reader.take('the signature', 64)
  const attestationKey = reader.take('the attestation key', 64)
  if (reader.u16('the type of the certification data') !== QE_REPORT)
    malformed('the quote has no report of its enclave')
  const certification = new FieldReader(
    reader.take('the certification data', reader.u32('the length of the certification data')),
    'the certification data',
  )
  reader.finish()
  const qeReport = certification.take("the enclave's report", QE_REPORT_BYTES)
  const qeReportSignature = certification.take("the signature of the enclave's report", 64)
  const qeAuthData = certification.take('the authentication data', certification.u16('the length of that'))
  if (certification.u16('the type of the certificates') !== PCK_CHAIN)
    malformed('the quote has no chain of PCK certificates')
  const pem = certification.take('the certificates', certification.u32('the length of the certificates'))
  certification.finish()
  return { signature, attestationKey, qeReport, qeReportSignature, qeAuthData, pckChainPem: pem.toString('latin1') }
}
