import { type Evidence, type Report, verify } from '../../verifier/verify.ts'
import { read, readText } from '../api/client.ts'
import { alteredReceipt } from './altered.ts'

/** The texts that prove a receipt. */
export interface Proof {
  readonly evidence: Evidence
  /** The change that was made to them, '' for none. */
  readonly note: string
}

const ATTEMPTS = 20
const PAUSE_MS = 500

/** Reads all that proves a receipt, and waits until it is in a checkpoint. @throws ApiError */
export async function readProof(id: string): Promise<Proof> {
  const receipt = await signedReceipt(id)
  const { price_sheet: version, lock } = JSON.parse(receipt) as { price_sheet: string; lock?: { series: string } }
  const [sheet, checkpoints, series] = await Promise.all([
    readText('/v1/pricing/sheets/{version}', { version }),
    read('/v1/log/checkpoints', { limit: 1 }),
    lock === undefined ? undefined : readText('/v1/locks/series/{id}', { id: lock.series }),
  ])
  const key = checkpoints.data[0]?.key
  return {
    evidence: { receipt, sheet, ...(key !== undefined && { key }), ...(series !== undefined && { lock: series }) },
    note: '',
  }
}

/** The public text of a receipt; it is in a signed checkpoint about a second after the answer. */
async function signedReceipt(id: string): Promise<string> {
  for (let attempt = 1; ; attempt++) {
    const text = await readText('/x402/v1/receipts/{id}', { id })
    const { log } = JSON.parse(text) as { log?: { checkpoint?: string | null } }
    if (attempt === ATTEMPTS || typeof log?.checkpoint === 'string') return text
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MS))
  }
}

/** The same proof with one byte of its receipt changed. */
export function altered({ evidence }: Proof): Proof {
  const { text, note } = alteredReceipt(evidence.receipt)
  return { evidence: { ...evidence, receipt: text }, note }
}

/** Verifies without asking anybody. */
export function verifyProof({ evidence }: Proof): Promise<Report> {
  return verify(evidence)
}
