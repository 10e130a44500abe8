import { verify, type X509Certificate } from 'node:crypto'
import { type Anchors, readPemChain, verifyChain } from './certificateChain.ts'
import { DER, derInteger, extensionOf, readDer } from './der.ts'
import { EvidenceError, malformed } from './evidenceError.ts'
import { readSnpReport, type SnpRegister, type SnpReport, type SnpTcb } from './snpReport.ts'

/** A bit of POLICY (firmware ABI specification, table "Guest Policy"). */
const DEBUG = 1n << 19n
/** Object ids of AMD's extensions (VCEK Certificate and KDS Interface Specification, 57230, table "x509v3 extensions"). */
const AMD = '2b060104019c78'
const SPL: Readonly<Record<keyof SnpTcb, string>> = {
  bootloader: `${AMD}010301`,
  tee: `${AMD}010302`,
  snp: `${AMD}010303`,
  microcode: `${AMD}010308`,
}
const HARDWARE_ID = `${AMD}0104`

/** The facts that a report proves. */
export interface VerifiedSnp {
  readonly registers: Readonly<Record<SnpRegister, string>>
  readonly reportData: Buffer
  readonly tcb: SnpTcb
}

/**
 * Verifies an SEV-SNP attestation report: its signature by the key of the chip (VCEK) or of its cloud (VLEK), the chain of
 * that key's certificate to the root, that the certificate is of this chip and these versions, and that debugging is disabled.
 * @param certificates PEM, the leaf first
 * @throws EvidenceError
 */
export function verifySnp(bytes: Buffer, certificates: string, anchors: Anchors): VerifiedSnp {
  const report = readSnpReport(bytes)
  const leaf = verifyChain(readPemChain(certificates), anchors)
  const isP384 = leaf.publicKey.asymmetricKeyDetails?.namedCurve === 'secp384r1'
  const key = { key: leaf.publicKey, dsaEncoding: 'ieee-p1363' as const }
  if (!isP384 || !verify('sha384', report.signed, key, report.signature)) {
    throw new EvidenceError('bad_signature', 'the SNP report is not signed by the key of its certificate')
  }
  requireSameChip(report, leaf)
  if ((report.policy & DEBUG) !== 0n) throw new EvidenceError('debug', 'the guest may be debugged')
  const registers = Object.entries(report.registers).map(([name, value]) => [name, value.toString('hex')])
  return {
    registers: Object.fromEntries(registers) as Record<SnpRegister, string>,
    reportData: report.reportData,
    tcb: report.reportedTcb,
  }
}

/** A certificate is issued for a chip and for the versions that it runs. */
function requireSameChip({ reportedTcb, signer, chipId }: SnpReport, leaf: X509Certificate): void {
  for (const name of Object.keys(SPL) as Array<keyof SnpTcb>) {
    const encoded = extensionOf(leaf.raw, SPL[name])
    if (encoded === undefined) malformed(`the certificate of the chip does not name its ${name}`)
    if (derInteger(readDer(encoded)) !== BigInt(reportedTcb[name])) {
      throw new EvidenceError('bad_signature', `the certificate of the chip is of another version of ${name}`)
    }
  }
  if (signer === 'vlek') return
  const hardwareId = extensionOf(leaf.raw, HARDWARE_ID)
  if (hardwareId === undefined) malformed('the certificate does not name its chip')
  // A chip of Turin has an id of 8 bytes, which the report fills up with zeros.
  const id = bareId(hardwareId)
  const isSame = chipId.subarray(0, id.length).equals(id) && chipId.subarray(id.length).every((byte) => byte === 0)
  if (!isSame) throw new EvidenceError('bad_signature', 'the certificate is of another chip')
}

/** The id as it is, or within an OCTET STRING, as certificates of different times have it. */
function bareId(value: Buffer): Buffer {
  const isWrapped = value[0] === DER.octetString && value[1] === value.length - 2
  return isWrapped ? value.subarray(2) : value
}

/** Whether every version is at least the required one. */
export function isAtLeast(tcb: SnpTcb, least: Partial<SnpTcb>): boolean {
  return (Object.keys(tcb) as Array<keyof SnpTcb>).every((name) => tcb[name] >= (least[name] ?? 0))
}
