import { NO_USAGE } from '../../../contract/money/charge.ts'
import { type ReceiptFields, type ReceiptLog, receiptJson } from '../../../contract/money/receipt.ts'
import { checkpointText, headText } from '../../../control/book/checkpoint/checkpointText.ts'
import { generateNoteKey, NoteKey } from '../../../control/book/checkpoint/noteKey.ts'
import { leafText } from '../../../control/book/receipt/generated/receipt.ts'
import { leafHash } from '../../../control/book/usagelog/merkle.ts'
import { referenceRoot } from '../referenceTree.ts'

export const ORIGIN = 'gateway.example.com/v1/log'
export const LOG_KEY: NoteKey = NoteKey.of(generateNoteKey(ORIGIN))
export const SHEET = JSON.stringify({
  version: '1',
  coin: { usd: '1' },
  models: [{ id: 'test/small', unit: 'million_tokens', price: { input: '1', output: '2' } }],
})

export const FIELDS: ReceiptFields = {
  requestId: 'req_01M7XY94RCYS5DVS0Y0NXMF0CG',
  status: 'ok',
  model: 'test/small',
  endpoint: 'chat',
  sheetVersion: 1,
  rate: 'standard',
  tier: 'standard',
  costUnits: 20_000,
  holdUnits: 30_000,
  coinUsdUnits: 1_000_000_000,
  usage: { ...NO_USAGE, input: 10, output: 5 },
  quantity: 0,
  unit: '',
  size: '',
  attestation: '',
  usageSource: 'reported',
  clamped: false,
  streamed: true,
  createdMs: 1_795_227_423_510,
  durationMs: 9,
  firstByteMs: 3,
  tries: 1,
  errorCode: null,
}

/** The entry that the usage log has for a receipt without cached tokens. */
export function loggedEntry(fields: ReceiptFields): string {
  return leafText({
    ...fields,
    leafLayout: fields.tagging !== undefined ? 4 : fields.lock === undefined ? 2 : 3,
    tagsHash: fields.tagging?.hash ?? '',
    lockSeries: fields.lock?.seriesId ?? '',
    lockUnits: fields.lock?.units ?? 0,
    chargeUnits: fields.costUnits,
    inputTokens: fields.usage.input,
    cachedInputTokens: 0,
    cacheWrite5mTokens: 0,
    cacheWrite1hTokens: 0,
    outputTokens: fields.usage.output,
    reasoningTokens: fields.usage.reasoning,
    heldAtMs: fields.createdMs,
    errorCode: fields.errorCode ?? '',
  })
}

/** What somebody has signed who may cheat; what is left out is as it should be. */
export interface Cheating {
  readonly entry?: string
  readonly leaf?: Buffer
  readonly headEntry?: string
  /** What the checkpoint says of its size. */
  readonly size?: number
}

/** A checkpoint of a log of so many heads, the second of which is given. */
export function headsOf(headEntry: string, count: number): Buffer[] {
  return Array.from({ length: count }, (_, at) => leafHash(at === 1 ? headEntry : `head ${at}\n`))
}

/** The receipt at place 1 of 2 in log 7, with a proof of what was signed, and the heads of the checkpoint. */
export function provedReceipt(fields: ReceiptFields, cheating: Cheating = {}): { text: string; heads: Buffer[] } {
  const { entry = loggedEntry(fields) } = cheating
  const { log, heads } = provedLog(entry, cheating)
  return { text: receiptJson({ ...fields, log }), heads }
}

/** That place and proof for an entry. */
export function provedLog(entry: string, cheating: Omit<Cheating, 'entry'> = {}): { log: ReceiptLog; heads: Buffer[] } {
  const { leaf = leafHash(entry) } = cheating
  const before = leafHash('another\n')
  const root = referenceRoot([before, leaf])
  const { headEntry = headText(7, { size: 2, root }) } = cheating
  const heads = headsOf(headEntry, 3)
  const { size = heads.length } = cheating
  const note = LOG_KEY.sign(checkpointText(ORIGIN, { size, root: referenceRoot(heads) }))
  const [first, , third] = heads.map((hash) => hash.toString('hex'))
  const log = {
    number: 7,
    position: 1,
    proof: {
      entry,
      leaf: leaf.toString('hex'),
      treeSize: 2,
      root: root.toString('hex'),
      path: [before.toString('hex')],
      signed: { position: 1, entry: headEntry, treeSize: heads.length, path: [first ?? '', third ?? ''], note },
    },
  }
  return { log, heads }
}
