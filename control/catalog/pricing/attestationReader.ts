import { X509Certificate } from 'node:crypto'
import type { AttestationPolicy } from '../evidence/attestationPolicy.ts'
import type { Path, YamlFile } from '../../runtime/files/yamlFile.ts'
import type { AttestationContent } from './catalogContent.ts'

/** Reads `attestation` of a provider, which fits its schema; what does not hold all the same is noted at the file. */
export function readAttestation(file: YamlFile, path: Path, content: AttestationContent): AttestationPolicy {
  const { tcb_statuses: tcbStatuses, min_tcb: minTcb, test_root: testRoot } = content
  if (testRoot !== undefined && !isCertificate(testRoot)) file.problem([...path, 'test_root'], 'cannot be read')
  return {
    url: new URL(content.url).href,
    kind: content.kind,
    measurements: content.measurements.map((entry) =>
      Object.fromEntries(Object.entries(entry).map(([register, value]) => [register, value.toLowerCase()])),
    ),
    maxAgeSeconds: content.max_age_seconds,
    ...(tcbStatuses && { tcbStatuses }),
    ...(minTcb && { minTcb }),
    gpu: content.gpu === 'required',
    ...(testRoot && { testRoot }),
  }
}

function isCertificate(pem: string): boolean {
  try {
    return new X509Certificate(pem).ca
  } catch {
    return false
  }
}
