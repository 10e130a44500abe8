import { verify } from 'node:crypto'
import { type Anchors, readPemChain, verifyChain } from './certificateChain.ts'
import { EvidenceError, malformed } from './evidenceError.ts'
import { FieldReader } from './fieldReader.ts'

// DMTF DSP0274 (SPDM) 1.1, tables "GET_MEASUREMENTS request message format" and "Successful MEASUREMENTS response message
// format": evidence of a GPU is the request and the response, one after the other.
const SPDM_1_1 = 0x11
const GET_MEASUREMENTS = 0xe0
const MEASUREMENTS = 0x60
const SIGNATURE_BYTES = 96
/** More than any machine has. */
export const GPUS_MAX = 64

/** The evidence of one GPU. */
export interface GpuEvidence {
  /** The request and the response. */
  readonly messages: Buffer
  /** PEM, the leaf first. */
  readonly certificates: string
}

/**
 * Verifies that each GPU answered this nonce with a key of the vendor's devices. Its firmware measurements are not compared
 * with the vendor's reference values.
 * @param nonce 32 bytes
 * @throws EvidenceError
 */
export function verifyGpus(gpus: readonly GpuEvidence[], nonce: Buffer, anchors: Anchors): void {
  if (gpus.length === 0) throw new EvidenceError('gpu_missing', 'there is no evidence of a GPU')
  for (const { messages, certificates } of gpus) {
    const { asked, signature } = readMessages(messages)
    const leaf = verifyChain(readPemChain(certificates), anchors)
    const signed = messages.subarray(0, messages.length - SIGNATURE_BYTES)
    const isP384 = leaf.publicKey.asymmetricKeyDetails?.namedCurve === 'secp384r1'
    if (!isP384 || !verify('sha384', signed, { key: leaf.publicKey, dsaEncoding: 'ieee-p1363' }, signature)) {
      throw new EvidenceError('bad_signature', 'the evidence of a GPU is not signed by the key of its certificate')
    }
    if (!asked.equals(nonce)) throw new EvidenceError('wrong_nonce', 'the evidence of a GPU answers another nonce')
  }
}

function readMessages(messages: Buffer) {
  const reader = new FieldReader(messages, 'the evidence of a GPU')
  requireMessage(reader, GET_MEASUREMENTS)
  const asked = reader.take('the nonce of the request', 32)
  reader.take('the slot', 1)
  requireMessage(reader, MEASUREMENTS)
  reader.take('the number of measurements', 1)
  reader.take('the measurements', reader.u24('the length of the measurements'))
  reader.take('the nonce of the answer', 32)
  reader.take('opaque data', reader.u16('the length of opaque data'))
  const signature = reader.take('the signature', SIGNATURE_BYTES)
  if (reader.position !== messages.length) malformed('the evidence of a GPU has more bytes than fields')
  return { asked, signature }
}

function requireMessage(reader: FieldReader, code: number): void {
  const [version, found] = [reader.u8('the version'), reader.u8('the code')]
  if (version !== SPDM_1_1 || found !== code) malformed('the evidence of a GPU is not of SPDM 1.1')
  reader.take('parameters', 2)
}
