import { DER, type DerValue, derChild, derChildren, derInteger, extensionOf, readDer } from './der.ts'
import { malformed } from './evidenceError.ts'

// Intel SGX PCK Certificate and Certificate Revocation List Profile Specification, section 1.3.5: the object ids below
// 1.2.840.113741.1.13.1 and those below it.
const SGX_EXTENSION = '2a864886f84d010d01'
const TCB = `${SGX_EXTENSION}02`
const FMSPC = `${SGX_EXTENSION}04`
const PCESVN = `${TCB}11`
const COMPONENTS = 16

/** The platform that a PCK certificate describes. */
export interface PckExtension {
  /** The family of the platform, 6 bytes in hex. */
  readonly fmspc: string
  /** The security versions of its 16 components. */
  readonly componentSvns: readonly number[]
  readonly pceSvn: number
}

/** Reads the extension of a PCK certificate. @throws EvidenceError malformed */
export function readPckExtension(certificate: Buffer): PckExtension {
  const encoded = extensionOf(certificate, SGX_EXTENSION)
  if (encoded === undefined) malformed('the PCK certificate does not say what platform it is of')
  const fields = fieldsOf(readDer(encoded))
  const tcb = fields.get(TCB)
  const fmspc = fields.get(FMSPC)
  if (tcb?.tag !== DER.sequence || fmspc?.tag !== DER.octetString || fmspc.content.length !== 6) {
    malformed('the PCK certificate does not say what platform it is of')
  }
  const levels = fieldsOf(tcb)
  const componentSvns = Array.from({ length: COMPONENTS }, (_, i) =>
    svnOf(levels.get(`${TCB}${(i + 1).toString(16).padStart(2, '0')}`)),
  )
  return { fmspc: fmspc.content.toString('hex'), componentSvns, pceSvn: svnOf(levels.get(PCESVN)) }
}

/** Pairs of a name and a value, by the content of the name in hex. */
function fieldsOf(list: DerValue): ReadonlyMap<string, DerValue> {
  return new Map(
    derChildren(list).map((pair) => {
      const parts = derChildren(pair)
      const value = parts[1]
      if (value === undefined) malformed('a field of the PCK certificate has no value')
      return [derChild(parts, 0, DER.objectId).content.toString('hex'), value]
    }),
  )
}

function svnOf(value: DerValue | undefined): number {
  const svn = value === undefined ? -1n : derInteger(value)
  if (svn < 0n || svn > 0xffffn) malformed('the PCK certificate has no security version of a component')
  return Number(svn)
}
