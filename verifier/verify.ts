import { checkAmounts, checkPayment } from './amounts.ts'
import { isSame, toBase64 } from './bytes.ts'
import { checkCharge } from './charge.ts'
import { proveConsistent } from './consistency.ts'
import { entryOf, layoutOf } from './entry.ts'
import { must } from './failed.ts'
import { readSeries } from './lock.ts'
import { Members } from './members.ts'
import { type Checkpoint, checkCosignature, checkSignature, type NoteKey, readCheckpoint, readKey } from './note.ts'
import { type Place, type Receipt, readReceipt } from './receipt.ts'
import { checkStatement, readBatch } from './settlement.ts'
import { readSheet, type Sheet } from './sheet.ts'
import { type Found, parse, type Report, type Step, Steps, told } from './steps.ts'
import { checkTagging } from './tags.ts'
import { leafHash, rootOf } from './tree.ts'

export { type AttestationEvidence, verifyAttestation } from './attestation.ts'
export type { Report, Step }

/** The last second of the year 9999. */
const LAST_SECOND = 253_402_300_799n

/** The input of a verification, as texts. */
export interface Evidence {
  /** As GET /v1/receipts/ID answers; or an object that has such a receipt as `receipt` and its price sheet as `sheet`. */
  readonly receipt: string
  /** As GET /v1/pricing/sheets/VERSION answers. */
  readonly sheet?: string
  /** Of a receipt with `lock`, its series, or all series as GET /v1/locks answers. */
  readonly lock?: string
  /** The verifier key of the log, NAME+ID+KEY. Without it no signature is checked. */
  readonly key?: string
  /** The verifier keys of witnesses that have to have cosigned the receipt's checkpoint. */
  readonly witnesses?: readonly string[]
  /** Another checkpoint of the same log, kept from before or read later. */
  readonly checkpoint?: string
  /** The proof that the later one of both checkpoints contains the earlier one, as GET /v1/log/consistency answers. */
  readonly consistency?: string
  /** A settlement batch as on the chain: the answer of eth_getTransactionReceipt for its transaction. */
  readonly settlement?: string
  /** The address of the contract that batches are anchored in. */
  readonly contract?: string
  /** The proof that the later of the receipt's checkpoint and the batch contains the earlier, as above. */
  readonly settlementConsistency?: string
  /** The batch as GET /v1/settlements/NUMBER answers, with its statement. */
  readonly statement?: string
}

/** Verifies a receipt from the given texts only. Never throws: an unreadable text is a failed step. */
export async function verify(evidence: Evidence): Promise<Report> {
  const steps = new Steps()
  const read = await steps.run('receipt', () => readEvidence(evidence))
  if (read === undefined) return steps.report()
  const { receipt, sheet } = read
  await checkPrices(steps, receipt, sheet, evidence.lock)
  const { place } = receipt
  const { tagging } = receipt
  if (tagging !== null) await steps.run('tags', () => told(checkTagging(tagging)))
  await steps.run('entry', () => checkEntry(receipt))
  await steps.run('leaf', () => checkLeaf(place))
  await steps.run('log', () => checkLog(place))
  const signed = await steps.run('head', () => checkHead(place))
  if (signed !== undefined) await checkCheckpoints(steps, signed, evidence)
  await checkSettlement(steps, signed, evidence)
  return steps.report()
}

function readEvidence({ receipt, sheet }: Evidence): Found<{ receipt: Receipt; sheet: unknown }> {
  const json = parse(receipt, 'receipt')
  const members = new Members(json, 'the file')
  const isBundle = members.has('receipt') && !members.has('object')
  const read = readReceipt(isBundle ? members.value('receipt') : json)
  const ownSheet = isBundle && members.has('sheet') ? members.value('sheet') : undefined
  const value = { receipt: read, sheet: sheet === undefined ? ownSheet : parse(sheet, 'sheet') }
  return { value, reason: `${read.requestId}, ${read.status}, price sheet ${read.sheetVersion}` }
}

async function checkPrices(steps: Steps, receipt: Receipt, json: unknown, lock: string | undefined): Promise<void> {
  let sheet: Sheet | undefined
  if (json === undefined) steps.skip('charge', `price sheet ${receipt.sheetVersion} was not given`)
  else {
    sheet = await steps.run('sheet', () => {
      const value = readSheet(json)
      return { value, reason: `version ${value.version}` }
    })
  }
  if (sheet !== undefined) {
    const prices = sheet
    await checkAgainst(steps, receipt, prices, lock)
    await steps.run('amounts', () => told(checkAmounts(receipt, prices)))
  }
  const { paid } = receipt
  if (paid !== null) await steps.run('payment', () => told(checkPayment(receipt, paid)))
}

/** @param lock the series of the tokens that were burnt, as a text */
async function checkAgainst(steps: Steps, receipt: Receipt, prices: Sheet, lock: string | undefined): Promise<void> {
  const { lock: burnt } = receipt
  if (burnt !== null && lock === undefined) {
    steps.skip('charge', `series ${burnt.series} was not given`)
    return
  }
  await steps.run('charge', () => {
    const series = burnt === null ? undefined : readSeries(parse(lock ?? '', 'series'), burnt.series)
    return told(checkCharge(receipt, prices, series))
  })
}

function checkEntry(receipt: Receipt): Found<true> {
  const { entry } = receipt.place
  const layout = layoutOf(entry)
  const own = entryOf(receipt, layout).split('\n')
  const logged = entry.split('\n')
  const at = own.findIndex((line, place) => line !== logged[place])
  must(
    at < 0,
    `line ${at + 1} of the entry is ${JSON.stringify(logged[at])}, the receipt says ${JSON.stringify(own[at])}`,
  )
  must(own.length === logged.length, `the entry has ${logged.length} lines`)
  return told(`it says what the receipt says, in the layout ${layout}`)
}

function checkLeaf({ entry, leaf }: Place): Found<true> {
  must(isSame(leafHash(entry), leaf), 'the leaf is not the hash of the entry')
  return told('it is the hash of the entry')
}

function checkLog({ log, leaf, position, treeSize, root, proof }: Place): Found<true> {
  const reached = rootOf(leaf, position, treeSize, proof)
  must(
    reached !== undefined && isSame(reached, root),
    `the proof does not lead from the leaf to the root of log ${log}`,
  )
  return told(`place ${position} of ${treeSize} in log ${log}`)
}

interface Signed {
  /** Of the head in the log of heads. */
  readonly position: number
  readonly checkpoint: Checkpoint
  readonly note: string
}

function checkHead({ log, treeSize, root, signed }: Place): Found<Signed> {
  must(signed !== undefined, 'the receipt is in no checkpoint yet; read it again in some seconds')
  const entry = `sluice-head/1\n${log}\n${treeSize}\n${toBase64(root)}\n`
  must(signed.entry === entry, `the head is not that of log ${log} with ${treeSize} receipts and this root`)
  const checkpoint = readCheckpoint(signed.checkpoint)
  must(signed.treeSize === checkpoint.size, `the proof is for ${signed.treeSize} heads, not ${checkpoint.size}`)
  const reached = rootOf(leafHash(entry), signed.position, signed.treeSize, signed.proof)
  const isThere = reached !== undefined && isSame(reached, checkpoint.root)
  must(isThere, 'the proof does not lead from the head to the root in the checkpoint')
  const value = { position: signed.position, checkpoint, note: signed.checkpoint }
  return { value, reason: `place ${signed.position} of ${checkpoint.size} in the checkpoint of ${checkpoint.origin}` }
}

async function checkCheckpoints(steps: Steps, signed: Signed, evidence: Evidence): Promise<void> {
  const { key: text, witnesses = [], checkpoint: note, consistency } = evidence
  const key = text === undefined ? undefined : await steps.run('key', () => keyOf(text))
  if (text === undefined) steps.skip('signature', 'no key was given')
  else if (key !== undefined) await steps.run('signature', () => checkSigned(signed.note, key))
  for (const witness of witnesses) await steps.run('witness', () => checkWitness(signed.note, witness))
  if (note === undefined) return
  const other = await steps.run('other', () => {
    const value = readCheckpoint(note)
    return { value, reason: `a checkpoint of ${value.size} heads of ${value.origin}` }
  })
  if (other === undefined) return
  if (key !== undefined) await steps.run('signature', () => checkSigned(note, key))
  await steps.run('consistency', () => checkConsistency(signed.checkpoint, other, consistency))
}

function keyOf(text: string): Found<NoteKey> {
  const value = readKey(text)
  return { value, reason: value.name }
}

async function checkSigned(note: string, key: NoteKey): Promise<Found<true>> {
  await checkSignature(note, key)
  return told(`signed by ${key.name}`)
}

async function checkWitness(note: string, text: string): Promise<Found<true>> {
  const key = readKey(text, 'witness')
  const seconds = await checkCosignature(note, key)
  must(seconds <= LAST_SECOND, `${key.name} has cosigned it at no time`)
  return told(`cosigned by ${key.name} at ${new Date(Number(seconds) * 1_000).toISOString()}`)
}

function checkConsistency(one: Checkpoint, other: Checkpoint, proof: string | undefined): Found<true> {
  must(one.origin === other.origin, `the checkpoints are of ${one.origin} and ${other.origin}`)
  return told(proveConsistent(one, other, proof === undefined ? undefined : parse(proof, 'proof')))
}

async function checkSettlement(steps: Steps, signed: Signed | undefined, evidence: Evidence): Promise<void> {
  const { settlement, contract, settlementConsistency: proof, statement } = evidence
  if (settlement === undefined) return
  const batch = await steps.run('settlement', () => {
    const value = readBatch(parse(settlement, 'transaction receipt'), contract)
    return { value, reason: `batch ${value.number} of ${value.size} heads, in block ${value.block}` }
  })
  if (batch === undefined) return
  if (statement !== undefined) {
    const origin = signed?.checkpoint.origin
    await steps.run('statement', () => told(checkStatement(parse(statement, 'batch'), batch, origin)))
  }
  if (signed === undefined) return
  await steps.run('anchored', () => {
    const { position, checkpoint } = signed
    must(position < batch.size, `batch ${batch.number} has ${batch.size} heads, the receipt's is at place ${position}`)
    return told(proveConsistent(checkpoint, batch, proof === undefined ? undefined : parse(proof, 'proof')))
  })
}
