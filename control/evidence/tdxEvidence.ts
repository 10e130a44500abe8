import { createHash, createPublicKey, type KeyObject, verify } from 'node:crypto'
import { type Anchors, readPemChain, verifyChain } from './certificateChain.ts'
import { EvidenceError, malformed } from './evidenceError.ts'
import { readPckExtension } from './pckExtension.ts'
import { isListOf, readRevocationList } from './revocationList.ts'
import { type SignedTcbInfo, type TcbStatus, tcbStatus } from './tcbInfo.ts'
import { readTdxQuote, type TdxQuote, type TdxRegister } from './tdxQuote.ts'

/** MRSIGNER and ISVPRODID of Intel's quoting enclave for TDX, as its identity says (PCS API v4, "Get TDX QE Identity"). */
const QE_MRSIGNER = 'dc9e2a7c6f948f17474e34a7fc43ed030f7c1563f1babddf6340c82e0e54a8c5'
const QE_PRODUCT = 2
/** Places in the report of an enclave (Intel SDM volume 3D, table "REPORT"). */
const QE = { attributes: 48, mrSigner: 128, productId: 256, reportData: 320 }
const QE_DEBUG = 0x02
/** Bits of TDATTRIBUTES (Intel TDX module ABI, "TD_ATTRIBUTES"): all of the first byte make a domain debuggable. */
const SEPT_VE_DISABLE = 0x10

/** Data that a provider sends with a quote, so that the state of its platform can be judged. */
export interface TdxCollateral {
  readonly tcbInfo: SignedTcbInfo
  /** In DER: of the root, and of the issuer of PCK certificates. */
  readonly revocationLists: readonly Buffer[]
}

/** The facts that a quote proves. */
export interface VerifiedTdx {
  readonly registers: Readonly<Record<TdxRegister, string>>
  readonly reportData: Buffer
  /** Null without collateral. */
  readonly tcb: TcbStatus | null
}

/**
 * Verifies a TDX quote: its signature, the enclave that signed it, the chain of certificates to the root, that nothing outside
 * can inspect the domain, and with collateral the state of the platform and that nothing is revoked.
 * @throws EvidenceError
 */
export function verifyTdx(bytes: Buffer, collateral: TdxCollateral | undefined, anchors: Anchors): VerifiedTdx {
  const quote = readTdxQuote(bytes)
  const revocations = collateral?.revocationLists.map(readRevocationList) ?? []
  const chain = readPemChain(quote.pckChainPem)
  const checked = { ...anchors, revocations }
  const pck = verifyChain(chain, checked)
  verifyQuoteSignatures(quote, pck.publicKey)
  requireSound(quote)
  const registers = Object.entries(quote.registers).map(([name, value]) => [name, value.toString('hex')])
  const proved = {
    registers: Object.fromEntries(registers) as Record<TdxRegister, string>,
    reportData: quote.reportData,
  }
  if (collateral === undefined) return { ...proved, tcb: null }
  // A list of another issuer does not cover this certificate.
  const issuer = chain[1] ?? anchors.roots.find((root) => pck.checkIssued(root))
  const list = issuer && revocations.find((one) => isListOf(one, issuer))
  if (list === undefined) malformed('the collateral has no list of revoked PCK certificates')
  if (list.nextUpdateMs < anchors.nowMs) {
    throw new EvidenceError('certificate_expired', 'the list of revoked certificates is out of date')
  }
  const platform = { ...readPckExtension(pck.raw), teeTcbSvn: quote.teeTcbSvn }
  return { ...proved, tcb: tcbStatus(collateral.tcbInfo, platform, checked) }
}

/** DCAP: the PCK signs the report of the enclave, which holds the hash of the attestation key, which signs the quote. */
function verifyQuoteSignatures(quote: TdxQuote, pckKey: KeyObject): void {
  requireSigned("the enclave's report", pckKey, quote.qeReport, quote.qeReportSignature)
  const { qeReport } = quote
  const bound = Buffer.concat([
    createHash('sha256').update(quote.attestationKey).update(quote.qeAuthData).digest(),
    Buffer.alloc(32),
  ])
  if (!qeReport.subarray(QE.reportData).equals(bound)) {
    throw new EvidenceError('bad_signature', "the enclave's report is not of the attestation key")
  }
  const mrSigner = qeReport.subarray(QE.mrSigner, QE.mrSigner + 32).toString('hex')
  if (mrSigner !== QE_MRSIGNER || qeReport.readUInt16LE(QE.productId) !== QE_PRODUCT) {
    throw new EvidenceError('bad_signature', "the quote is not signed by Intel's quoting enclave")
  }
  if ((qeReport.readUInt8(QE.attributes) & QE_DEBUG) !== 0)
    throw new EvidenceError('debug', 'the quoting enclave is debugged')
  requireSigned('the quote', attestationKeyOf(quote.attestationKey), quote.signed, quote.signature)
}

function attestationKeyOf(point: Buffer): KeyObject {
  const [x, y] = [point.subarray(0, 32), point.subarray(32)].map((half) => half.toString('base64url'))
  try {
    return createPublicKey({ key: { kty: 'EC', crv: 'P-256', x, y }, format: 'jwk' })
  } catch {
    return malformed('the attestation key is not a point of P-256')
  }
}

function requireSigned(what: string, key: KeyObject, signed: Buffer, signature: Buffer): void {
  const isP256 = key.asymmetricKeyDetails?.namedCurve === 'prime256v1'
  if (isP256 && verify('sha256', signed, { key, dsaEncoding: 'ieee-p1363' }, signature)) return
  throw new EvidenceError('bad_signature', `${what} is not signed`)
}

/** Refuses a domain that its host can look into, and one that does not run below Intel's own module. */
function requireSound({ tdAttributes, mrSignerSeam, seamAttributes, mrServiceTd }: TdxQuote): void {
  if (tdAttributes.readUInt8(0) !== 0) throw new EvidenceError('debug', 'the trust domain may be debugged')
  if ((tdAttributes.readUInt8(3) & SEPT_VE_DISABLE) === 0) {
    throw new EvidenceError('debug', 'the host may take pages from the trust domain unseen: SEPT_VE_DISABLE is off')
  }
  const foreign = [mrSignerSeam, seamAttributes, mrServiceTd].some((field) => field.some((byte) => byte !== 0))
  if (foreign)
    throw new EvidenceError('wrong_measurement', "the trust domain does not run below Intel's TDX module alone")
}
