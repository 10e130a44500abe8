import { X509Certificate } from 'node:crypto'
import type { AttestationKind, AttestationPolicy } from '../../evidence/attestationPolicy.ts'
import { SNP_REGISTERS } from '../../evidence/snpReport.ts'
import { TDX_REGISTERS } from '../../evidence/tdxQuote.ts'
import type { Path, YamlFile } from '../../runtime/files/yamlFile.ts'
import type { AttestationContent } from './catalogContent.ts'

/** The registers of a kind, with their bytes. */
const REGISTERS: Readonly<Record<AttestationKind, ReadonlyMap<string, number>>> = {
  tdx: new Map(TDX_REGISTERS.map((name) => [name, 48])),
  'sev-snp': new Map(Object.entries(SNP_REGISTERS)),
}

/** Reads `attestation` of a provider, which fits its schema; other errors are recorded on the file. */
export function readAttestation(file: YamlFile, path: Path, content: AttestationContent): AttestationPolicy {
  const { tcb_statuses: tcbStatuses, min_tcb: minTcb, test_root: testRoot } = content
  if (testRoot !== undefined && !isCertificate(testRoot)) file.problem([...path, 'test_root'], 'cannot be read')
  return {
    url: new URL(content.url).href,
    kind: content.kind,
    measurements: content.measurements.map((entry, index) => {
      checkRegisters(file, [...path, 'measurements', index], content.kind, entry)
      return Object.fromEntries(Object.entries(entry).map(([register, value]) => [register, value.toLowerCase()]))
    }),
    maxAgeSeconds: content.max_age_seconds,
    ...(tcbStatuses && { tcbStatuses }),
    ...(minTcb && { minTcb }),
    gpu: content.gpu === 'required',
    ...(testRoot && { testRoot }),
  }
}

function checkRegisters(
  file: YamlFile,
  path: Path,
  kind: AttestationKind,
  entry: Readonly<Record<string, string>>,
): void {
  const known = REGISTERS[kind]
  for (const [register, value] of Object.entries(entry)) {
    const bytes = known.get(register)
    if (bytes === undefined) {
      file.problem([...path, register], `is no register of ${kind}; registers: ${[...known.keys()].join(', ')}`)
    } else if (value.length !== bytes * 2) file.problem([...path, register], `must be ${bytes} bytes in hex`)
  }
}

function isCertificate(pem: string): boolean {
  try {
    return new X509Certificate(pem).ca
  } catch {
    return false
  }
}
