import { malformed } from './evidenceError.ts'
import { FieldReader } from './fieldReader.ts'

// AMD SEV Secure Nested Paging Firmware ABI Specification (56860), table "ATTESTATION_REPORT structure".
const REPORT_BYTES = 1184
const SIGNED_BYTES = 0x2a0
const VERSIONS = { least: 2, most: 6 }
const ECDSA_P384_SHA384 = 1
/** The family of the processors (CPUID) since which the versions of the TCB have another layout: Turin. */
const TURIN_FAMILY = 0x1a

/** The fields that a guest is known by, with their bytes. */
export const SNP_REGISTERS = {
  measurement: 48,
  host_data: 32,
  id_key_digest: 48,
  author_key_digest: 48,
  family_id: 16,
  image_id: 16,
} as const
export type SnpRegister = keyof typeof SNP_REGISTERS

/** Security versions of the firmware below the guest. */
export interface SnpTcb {
  readonly bootloader: number
  readonly tee: number
  readonly snp: number
  readonly microcode: number
}

/** The signing key: that of the chip, or that of the cloud which owns it. */
export type SnpSigner = 'vcek' | 'vlek'

export interface SnpReport {
  readonly policy: bigint
  readonly signer: SnpSigner
  readonly registers: Readonly<Record<SnpRegister, Buffer>>
  /** 64 bytes. */
  readonly reportData: Buffer
  readonly reportedTcb: SnpTcb
  readonly chipId: Buffer
  readonly signed: Buffer
  /** r and s, big-endian, 48 bytes each. */
  readonly signature: Buffer
}

/** Reads an attestation report; nothing of it is verified. @throws EvidenceError malformed */
export function readSnpReport(bytes: Buffer): SnpReport {
  if (bytes.length !== REPORT_BYTES) malformed(`the SNP report has ${bytes.length} bytes, not ${REPORT_BYTES}`)
  const reader = new FieldReader(bytes, 'the SNP report')
  const version = reader.u32('VERSION')
  if (version < VERSIONS.least || version > VERSIONS.most) malformed(`the SNP report has the version ${version}`)
  reader.take('GUEST_SVN', 4)
  const policy = reader.u64('POLICY')
  const [familyId, imageId] = [reader.take('FAMILY_ID', 16), reader.take('IMAGE_ID', 16)]
  reader.take('VMPL', 4)
  if (reader.u32('SIGNATURE_ALGO') !== ECDSA_P384_SHA384) malformed('the SNP report is not signed by ECDSA P-384')
  reader.take('CURRENT_TCB and PLATFORM_INFO', 16)
  const signer = signerOf((reader.u32('SIGNING_KEY') >> 2) & 0b111)
  reader.take('reserved bytes', 4)
  const reportData = reader.take('REPORT_DATA', 64)
  const measurement = reader.take('MEASUREMENT', 48)
  const hostData = reader.take('HOST_DATA', 32)
  const [idKey, authorKey] = [reader.take('ID_KEY_DIGEST', 48), reader.take('AUTHOR_KEY_DIGEST', 48)]
  reader.take('REPORT_ID and REPORT_ID_MA', 64)
  const tcb = reader.take('REPORTED_TCB', 8)
  const family = version >= 3 ? reader.u8('CPUID_FAM_ID') : 0
  reader.take('reserved bytes', 0x1a0 - reader.position)
  return {
    policy,
    signer,
    registers: {
      measurement,
      host_data: hostData,
      id_key_digest: idKey,
      author_key_digest: authorKey,
      family_id: familyId,
      image_id: imageId,
    },
    reportData,
    reportedTcb: tcbOf(tcb, family >= TURIN_FAMILY),
    chipId: reader.take('CHIP_ID', 64),
    signed: bytes.subarray(0, SIGNED_BYTES),
    signature: readSignature(new FieldReader(bytes.subarray(SIGNED_BYTES), 'the signature')),
  }
}

function signerOf(key: number): SnpSigner {
  if (key === 0) return 'vcek'
  if (key === 1) return 'vlek'
  return malformed('the SNP report is not signed')
}

/** Table "TCB_VERSION structure". */
function tcbOf(bytes: Buffer, isTurin: boolean): SnpTcb {
  const [bootloader, tee, snp] = isTurin ? ([1, 2, 3] as const) : ([0, 1, 6] as const)
  const at = (place: number): number => bytes.readUInt8(place)
  return { bootloader: at(bootloader), tee: at(tee), snp: at(snp), microcode: at(7) }
}

/** Table "ECDSA P-384 with SHA-384": 72 bytes for each number, little-endian. */
function readSignature(reader: FieldReader): Buffer {
  const halves = ['R', 'S'].map((name) => {
    const number = reader.take(name, 72)
    if (number.subarray(48).some((byte) => byte !== 0)) malformed(`${name} of the signature is too large`)
    return Buffer.from(number.subarray(0, 48)).reverse()
  })
  return Buffer.concat(halves)
}
