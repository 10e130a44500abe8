import { verify } from 'node:crypto'
import type { Anchors } from './certificateChain.ts'
import { readPemChain, verifyChain } from './certificateChain.ts'
import { EvidenceError, malformed } from './evidenceError.ts'
import { parseEvidence } from './evidenceJson.ts'
import type { PckExtension } from './pckExtension.ts'

// Intel PCS API v4, "Get TDX TCB Info", and the matching of levels that is described there.
const COMPONENTS = 16

/** The statuses of a platform by Intel's published TCB levels, best first. */
const TCB_STATUSES = [
  'UpToDate',
  'SWHardeningNeeded',
  'ConfigurationNeeded',
  'ConfigurationAndSWHardeningNeeded',
  'OutOfDate',
  'OutOfDateConfigurationNeeded',
  'Revoked',
] as const
export type TcbStatus = (typeof TCB_STATUSES)[number]

/** TCB info as the PCS serves it: the signature is of the bytes of the JSON text. */
export interface SignedTcbInfo {
  readonly text: string
  /** r and s, 32 bytes each. */
  readonly signature: Buffer
  /** PEM, the leaf first. */
  readonly issuerChain: string
}

/** The versions that the platform reports. */
export interface PlatformTcb extends PckExtension {
  /** TEE_TCB_SVN of the quote. */
  readonly teeTcbSvn: Buffer
}

interface TcbLevel {
  readonly sgx: readonly number[]
  readonly tdx: readonly number[]
  readonly pceSvn: number
  readonly status: TcbStatus
}

/**
 * The status of a platform by signed TCB info of its family.
 * @throws EvidenceError malformed, bad_signature, unknown_root, certificate_expired, revoked, and tcb_too_low where it is
 * below every level or of another family
 */
export function tcbStatus(signed: SignedTcbInfo, platform: PlatformTcb, anchors: Anchors): TcbStatus {
  const leaf = verifyChain(readPemChain(signed.issuerChain), anchors)
  const key = { key: leaf.publicKey, dsaEncoding: 'ieee-p1363' as const }
  if (leaf.publicKey.asymmetricKeyType !== 'ec' || !verify('sha256', Buffer.from(signed.text), key, signed.signature)) {
    throw new EvidenceError('bad_signature', 'the TCB info is not signed')
  }
  const { fmspc, nextUpdateMs, levels } = readTcbInfo(signed.text)
  if (nextUpdateMs < anchors.nowMs) throw new EvidenceError('certificate_expired', 'the TCB info is out of date')
  if (fmspc !== platform.fmspc) throw new EvidenceError('tcb_too_low', 'the TCB info is of another family of platforms')
  const level = levels.find((one) => isReached(one, platform))
  if (level === undefined) throw new EvidenceError('tcb_too_low', 'the platform is below every level of the TCB info')
  return level.status
}

/** Every component is compared by itself; the first two of a TDX module that is versioned apart are not its own. */
function isReached({ sgx, tdx, pceSvn }: TcbLevel, platform: PlatformTcb): boolean {
  const from = (platform.teeTcbSvn[1] ?? 0) > 0 ? 2 : 0
  return (
    platform.pceSvn >= pceSvn &&
    sgx.every((svn, place) => (platform.componentSvns[place] ?? -1) >= svn) &&
    tdx.every((svn, place) => place < from || (platform.teeTcbSvn[place] ?? -1) >= svn)
  )
}

function readTcbInfo(text: string) {
  const info = objectOf(parseEvidence(Buffer.from(text), 'the TCB info'))
  if (info['id'] !== 'TDX') malformed('the TCB info is not of TDX')
  const nextUpdateMs = Date.parse(String(info['nextUpdate']))
  if (Number.isNaN(nextUpdateMs)) malformed('the TCB info has no nextUpdate')
  const levels = listOf(info['tcbLevels']).map(readLevel)
  return { fmspc: String(info['fmspc']).toLowerCase(), nextUpdateMs, levels }
}

function readLevel(value: unknown): TcbLevel {
  const level = objectOf(value)
  const tcb = objectOf(level['tcb'])
  // A level whose status is not known must not be passed over for a lower one.
  const status = TCB_STATUSES.find((known) => known === level['tcbStatus']) ?? 'Revoked'
  return { ...svnsOf(tcb), status }
}

function svnsOf(tcb: Readonly<Record<string, unknown>>) {
  return {
    sgx: componentsOf(tcb['sgxtcbcomponents']),
    tdx: componentsOf(tcb['tdxtcbcomponents']),
    pceSvn: svnOf(tcb['pcesvn']),
  }
}

function componentsOf(value: unknown): number[] {
  const components = listOf(value).map((component) => svnOf(objectOf(component)['svn']))
  if (components.length !== COMPONENTS) malformed(`a level of the TCB info has not ${COMPONENTS} components`)
  return components
}

function svnOf(value: unknown): number {
  if (typeof value !== 'number' || !Number.isInteger(value) || value < 0) malformed('a level has no security version')
  return value
}

function objectOf(value: unknown): Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) malformed('the TCB info lacks an object')
  return value as Record<string, unknown>
}

function listOf(value: unknown): readonly unknown[] {
  if (!Array.isArray(value)) malformed('the TCB info lacks a list')
  return value
}
